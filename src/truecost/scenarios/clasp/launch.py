"""Where clasp is, as the package clingo carries it in its library, and a program around that
library.

A scenario calls `find`, which names this program and the library, or a clasp on PATH where there is
no such package.

launch.py LIBRARY WORD ... calls clingo with these words, clasp if the first is --mode=clasp; its
exit code is then clasp's own: 10 satisfiable, 20 unsatisfiable, others no answer (`python -m clingo
--mode=clasp` always exits with 0). Neither site-packages nor the package's modules are loaded: that
would take longer than many a run.
"""

import ctypes
import os
import sys


def clingo() -> list[str]:
    """The words to begin a command line of the package's clingo with; none without the package."""
    from pathlib import Path

    for folder in map(Path, sys.path):
        for library in sorted(folder.glob("clingo/_clingo*.so")):
            # -I -S: nothing is loaded but what stands here.
            here = str(Path(__file__).absolute())
            return [sys.executable, "-I", "-S", here, str(library.absolute())]
    return []


def find() -> list[str]:
    """The words to begin clasp's command line with."""
    import shutil

    if words := clingo():
        return [*words, "--mode=clasp"]
    if program := shutil.which("clasp"):
        return [program]
    raise FileNotFoundError("clasp not found: install the package clingo, or a clasp on PATH")


def main(library: str, *words: str) -> None:
    """Be clingo."""
    # Paths may hold bytes that are no UTF-8.
    texts = [word.encode("utf-8", "surrogateescape") for word in words]
    # clingo.h: clingo_application_t is eight functions, any of which may be missing; then
    # arguments, their number, and data.
    application = (ctypes.c_void_p * 8)()
    arguments = (ctypes.c_char_p * len(texts))(*texts)
    code = ctypes.CDLL(library).clingo_main(
        application, arguments, ctypes.c_size_t(len(texts)), None
    )
    # Nothing is left to clean up: straight out, as clingo goes.
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
