"""Choose between a NumPy kernel and its compiled twin.

A kernel is a pure function over arrays. ``<topic>.py`` holds the readable NumPy version, and
``_<topic>.pyx`` beside it may hold a Cython function of the same name and signature. The
decorator :func:`compiled` puts the fast one in place where it was built.

The environment variable ``SUBSCAPE_KERNELS`` is read once, when a kernel is imported:

``auto`` (or unset)
    the compiled twin where there is one, NumPy otherwise;
``numpy``
    NumPy everywhere, compiled twins are not even imported;
``cython``
    the compiled twin everywhere, and an error where one is missing.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, cast

__all__ = ["KERNELS", "Kernel", "active", "compiled", "describe", "load_all", "requested"]

VARIABLE = "SUBSCAPE_KERNELS"
CHOICES = ("auto", "numpy", "cython")

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Kernel(Protocol[P, R_co]):
    """A function with a NumPy version and, where it was built, a compiled one.

    Attributes
    ----------
    reference : callable
        The NumPy function.
    twin : callable or None
        The compiled function of the same name and signature; None if NumPy runs.
    """

    reference: Callable[..., Any]
    twin: Callable[..., Any] | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


KERNELS: dict[str, Kernel[..., Any]] = {}
"""The kernels imported so far, by ``topic.name``."""

_WHY_NUMPY: dict[str, str] = {}


def requested() -> str:
    """Read from the environment which kernels are wanted.

    Returns
    -------
    str
        "auto", "numpy" or "cython".

    Examples
    --------
    >>> from subscape.arrays.backend import requested
    >>> requested() in {"auto", "numpy", "cython"}
    True
    """
    value = os.environ.get(VARIABLE, "").strip().lower() or "auto"
    if value not in CHOICES:
        raise ValueError(
            f"the environment variable {VARIABLE} is {os.environ[VARIABLE]!r}, but the kernels to "
            f"choose from are {', '.join(CHOICES)}; set it to one of them or unset it"
        )
    return value


def compiled(module: str) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorate a NumPy kernel so that its compiled twin runs instead where one was built.

    Parameters
    ----------
    module : str
        The extension module beside the kernel's own, for example ``"_contingency"``. It holds
        a function of the same name and signature as the one decorated.

    Returns
    -------
    callable
        A decorator. What it makes keeps the name, the docstring and the signature of the NumPy
        function, which stays reachable as ``.reference``; the compiled one is ``.twin``, None
        where NumPy runs.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.contingency import count_pairs
    >>> labels = np.array([0, 1, 1])
    >>> fast = count_pairs(labels, labels, 2, 2)
    >>> slow = count_pairs.reference(labels, labels, 2, 2)
    >>> np.array_equal(fast, slow)
    True
    """

    def decorate(reference: Callable[P, R]) -> Kernel[P, R]:
        package, _, topic = reference.__module__.rpartition(".")
        name = f"{topic}.{reference.__name__}"
        twin, why = _find_twin(f"{package}.{module}", reference.__name__)
        run = reference if twin is None else twin

        # A plain function, because help(), doctest, pickle and inspect all know what that is.
        @functools.wraps(reference)
        def kernel(*args: P.args, **kwargs: P.kwargs) -> R:
            return run(*args, **kwargs)

        result = cast("Kernel[P, R]", kernel)
        result.reference = reference
        result.twin = twin
        KERNELS[name] = result
        _WHY_NUMPY[name] = why
        return result

    return decorate


def load_all() -> None:
    """Import every kernel, so that :data:`KERNELS` is complete.

    Examples
    --------
    >>> from subscape.arrays.backend import KERNELS, load_all
    >>> load_all()
    >>> "contingency.count_pairs" in KERNELS
    True
    """
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        if "\n@compiled(" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(root.parent).with_suffix("").parts
            importlib.import_module(".".join(parts))


def active() -> str:
    """Say which kernels run: "cython", "numpy" or "mixed".

    Examples
    --------
    >>> from subscape.arrays.backend import active
    >>> active() in {"cython", "numpy", "mixed"}
    True
    """
    load_all()
    fast = sum(kernel.twin is not None for kernel in KERNELS.values())
    if fast == 0:
        return "numpy"
    return "cython" if fast == len(KERNELS) else "mixed"


def describe() -> str:
    """Say which kernels run and, where NumPy does, why: the text in ``subscape --version``.

    Examples
    --------
    >>> from subscape.arrays.backend import describe
    >>> describe().startswith(("cython", "numpy", "mixed"))
    True
    """
    which = active()
    slow = [name for name, kernel in KERNELS.items() if kernel.twin is None]
    if not slow:
        return which
    reasons = "; ".join(sorted({_WHY_NUMPY[name] for name in slow}))
    if which == "numpy":
        return f"numpy, {reasons}"
    named = ", ".join(sorted(slow)[:3]) + (f" and {len(slow) - 3} more" if len(slow) > 3 else "")
    return f"mixed, numpy for {named}: {reasons}"


def _find_twin(module: str, name: str) -> tuple[Callable[..., Any] | None, str]:
    """Import the twin, or say why there is none."""
    wanted = requested()
    if wanted == "numpy":
        return None, f"chosen by {VARIABLE}"
    cause: ImportError | AttributeError
    try:
        return getattr(importlib.import_module(module), name), ""
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        why, cause = "the compiled ones were not built", error
    except ImportError as error:
        why, cause = f"the compiled ones do not load ({error})", error
    except AttributeError as error:
        why, cause = "the compiled ones are out of date", error
    if wanted == "cython":
        raise ImportError(
            f"{VARIABLE} is 'cython', but {module}.{name} cannot be used: {why}; reinstall "
            f"subscape where a C compiler works, or set {VARIABLE} to 'auto'"
        ) from cause
    return None, why
