"""Dense units of a grid: what CLIQUE and MAFIA share."""
