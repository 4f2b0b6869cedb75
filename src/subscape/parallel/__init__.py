"""Where work runs: threads, processes, a cluster; seeds, progress and interruption."""
