"""Run kissat, as the package passagemath-kissat carries it, or another one, on one formula.

launch.py [--binary=PATH] --seed=N INSTANCE [--option=value ...]
"""

import os
import sys
from pathlib import Path


def find() -> str:
    """The binary in site-packages; looked for without importing anything, which would take longer than many a run."""
    for folder in sys.path:
        binary = Path(folder) / "sage_wheels" / "bin" / "kissat"
        if binary.is_file():
            return str(binary)
    raise SystemExit("kissat not found: install the package passagemath-kissat, or name a binary with --binary=PATH")


def main(words: list[str]) -> None:
    """Become kissat."""
    binary = words.pop(0).removeprefix("--binary=") if words[:1] and words[0].startswith("--binary=") else find()
    os.execv(binary, [binary, "-q", *words] if words != ["--version"] else [binary, *words])  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
