"""Run clasp, as the package clingo carries it, or another one, on one ground program.

launch.py [--binary=PATH] --seed=N INSTANCE [--option=value ...]

The exit code is clasp's own: 10 satisfiable, 20 unsatisfiable, others no answer. Without the package and without --binary, a
clasp on PATH is taken.
"""

import os
import shutil
import sys


def main(words: list[str]) -> None:
    """Become clasp, or be clasp."""
    given = words.pop(0).removeprefix("--binary=") if words and words[0].startswith("--binary=") else None
    options = ["--outf=0", "--quiet=0", "--verbose=1", "--stats=0"] if words != ["--version"] else []
    try:
        if given is None:
            from clingo.application import Application, clingo_main
    except ModuleNotFoundError:
        given = shutil.which("clasp")
        if given is None:
            raise SystemExit("clasp not found: install the package clingo, or name a binary with --binary=PATH") from None
    if given is not None:
        os.execv(given, [given, *options, *words])  # noqa: S606

    class Clasp(Application):
        program_name = "clingo"

        def main(self, control: object, files: object) -> None:
            """Never called in clasp mode."""

    code = clingo_main(Clasp(), ["--mode=clasp", *options, *words])
    sys.stdout.flush()
    # Nothing is left to clean up: straight out, as clasp goes.
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
