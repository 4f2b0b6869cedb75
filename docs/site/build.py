"""Build the site: ``python docs/site/build.py``, or ``make docs``. No network is needed.

The pages of the repository keep their places in a copy under build/site/source, so that their
links hold there as here. Beside them are put: the landing page, the reference of every public name,
the examples of the gallery, and what is made of the catalogue. Then Sphinx runs, with warnings as
errors, executes examples and tutorials, and all links within the site are checked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import examples  # noqa: E402
import links  # noqa: E402
import made_pages  # noqa: E402
import reference  # noqa: E402

#: What of the repository is on the site.
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "LICENSE",
)
FOLDERS = ("docs", "benchmarks")


def main() -> int:
    """Build; 1 if anything is wrong with a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site" / "html")
    parser.add_argument(
        "--fast", action="store_true", help="leave examples and tutorials unexecuted"
    )
    parser.add_argument("--outside", action="store_true", help="also try links to other sites")
    asked = parser.parse_args()
    began = time.perf_counter()
    source = ROOT / "build" / "site" / "source"
    stage(source)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E"]
    command += ["-c", str(HERE), "-d", str(source.parent / "doctrees")]
    if asked.fast:
        command += ["-D", "plot_gallery=0", "-D", "nb_execution_mode=off"]
        command += ["-D", "suppress_warnings=config.cache,myst-nb.lexer"]
    shutil.rmtree(asked.output, ignore_errors=True)
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore"}
    environment["IPYTHONDIR"] = str(quiet_kernels(source.parent / "ipython"))
    done = subprocess.run(
        [*command, "-b", "html", str(source), str(asked.output)], env=environment, cwd=source
    )
    if done.returncode:
        return done.returncode
    problems = links.problems(asked.output, outside=asked.outside)
    for problem in problems:
        print(problem, file=sys.stderr)
    pages = len(list(asked.output.rglob("*.html")))
    print(f"{pages} pages in {asked.output}, {time.perf_counter() - began:.0f} s", flush=True)
    if not problems:
        print("all links within the site hold", flush=True)
    return int(bool(problems))


def quiet_kernels(folder: Path) -> Path:
    """Settings with which the kernels of the tutorials say nothing about how they are reached."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n")
    return folder


def stage(source: Path) -> None:
    """Put all pages into a folder of their own."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for page in PAGES:
        shutil.copy(ROOT / page, source / page)
    for folder in FOLDERS:
        shutil.copytree(
            ROOT / folder,
            source / folder,
            ignore=shutil.ignore_patterns("__pycache__", "site", "gallery"),
        )
    made_pages.write(source)
    reference.write(source / "reference")
    examples.write(source / "gallery_source")


if __name__ == "__main__":
    sys.exit(main())
