"""How kernels are compiled: by Numba, once, and from then on loaded from its cache without loading
its compiler.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorates a function: compiled when first called, kept in the cache, and run without the
    interpreter's lock.

    `options` are those of `numba.njit`.
    """
    if function is None:
        return lambda function: compiled(function, **options)
    dispatcher = numba.njit(nogil=True, **options)(function)
    try:
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    except RuntimeError:
        # Neither our own folder nor the user's can be written: a folder that only this process has,
        # since whoever can write to a cache decides what is run.
        numba.config.CACHE_DIR = _own_folder()  # type: ignore[attr-defined]
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return dispatcher


@cache
def _own_folder() -> str:
    folder = tempfile.mkdtemp(prefix="truecost-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class _Cache(FunctionCache):
    """Numba's, which loads all that is needed to compile a kernel before it loads a finished one:
    0.3 s of every command.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature, or None if it has to be compiled; the compiler then loads by
        itself what it needs.
        """
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
