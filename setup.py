"""Build the optional Cython kernels; everything else is declared in pyproject.toml.

Each ``_<topic>.pyx`` under ``src/subscape`` is the compiled twin of the NumPy functions of a module
beside it. Without Cython, or without a working C compiler, the package is installed all the same
and runs on the NumPy twins.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

#: Said here, at once and by any version of pip: what else there is to install may not even run.
OLDEST = (3, 11)
if sys.version_info < OLDEST:
    here = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"Subscape needs Python {OLDEST[0]}.{OLDEST[1]} or newer, and this is Python {here}")

HERE = Path(__file__).parent
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
#: SUBSCAPE_ABI3=1 makes one wheel for Python 3.11 and all later ones, in the limited C API.
ABI3 = os.environ.get("SUBSCAPE_ABI3") == "1"


def kernels() -> list[Extension]:
    """List the compiled kernels, or none where Cython is missing."""
    try:
        from Cython.Build import cythonize
    except ImportError:
        print("note: Cython is missing, the NumPy kernels will be used", file=sys.stderr)
        return []
    # No -march=native and no -ffast-math: wheels stay portable, and sums keep the order that the
    # NumPy twin is compared with.
    flags = ["/O2"] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"]
    extensions = [
        Extension(
            ".".join(source.relative_to(HERE / "src").with_suffix("").parts),
            [source.relative_to(HERE).as_posix()],
            extra_compile_args=flags,
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if ABI3 else [],
            py_limited_api=ABI3,
        )
        for source in sorted((HERE / "src" / "subscape").rglob("*.pyx"))
    ]
    if not extensions:
        return []
    extensions = cythonize(extensions, compiler_directives=DIRECTIVES, build_dir="build/cython")
    for extension in extensions:
        extension.optional = True  # set here, because cythonize() forgets it
    return extensions


# The compiler takes most of an installation: one process per core.
setup(
    ext_modules=kernels(),
    options={
        "build_ext": {"parallel": os.cpu_count() or 1},
        "bdist_wheel": {"py_limited_api": "cp311"} if ABI3 else {},
    },
)
