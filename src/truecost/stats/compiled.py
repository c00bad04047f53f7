"""How kernels are compiled: by Numba, once, and from then on loaded from its cache without loading
its compiler.
"""

from collections.abc import Callable
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
    dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return dispatcher


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
