"""Where kissat is, as the package passagemath-kissat carries it.

A scenario calls `find` and then kissat itself: the start of Python would take longer than many a
run. For others, `launch.py WORD ...` becomes kissat.
"""

import os
import sys
from pathlib import Path


def find() -> list[str]:
    """The binary in site-packages; looked for without importing anything."""
    for folder in sys.path:
        binary = Path(folder) / "sage_wheels" / "bin" / "kissat"
        if binary.is_file():
            return [str(binary)]
    raise FileNotFoundError("kissat not found: install the package passagemath-kissat")


if __name__ == "__main__":
    os.execv(find()[0], [*find(), *sys.argv[1:]])  # noqa: S606
