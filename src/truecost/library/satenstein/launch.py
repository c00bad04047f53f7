"""Run SATenstein, in a UBCSAT binary, on one formula.

launch.py [--binary=PATH] --seed=N INSTANCE [-name value ...]

The binary is the one named, or the one that the environment variable TRUECOST_SATENSTEIN names. Some of SATenstein's
parameters stand in the space more than once, since their conditions differ: there their names begin with CON or DLS, which
SATenstein does not know.
"""

import os
import sys
from pathlib import Path

VARIABLE = "TRUECOST_SATENSTEIN"


def command(binary: str, seed: str, instance: str, parameters: list[str]) -> list[str]:
    """SATenstein's command line: one try without end, a model printed as SAT competitions want it."""
    words = [binary, "-alg", "satenstein", "-inst", instance, "-seed", seed]
    words += ["-cutoff", "max", "-target", "0", "-r", "satcomp"]
    for name, value in zip(parameters[::2], parameters[1::2], strict=True):
        words += ["-" + name.removeprefix("-").removeprefix("CON").removeprefix("DLS"), value]
    return words


def main(words: list[str]) -> None:
    """Become SATenstein."""
    if words and words[0].startswith("--binary="):
        binary = words.pop(0).removeprefix("--binary=")
    else:
        binary = os.environ.get(VARIABLE, "")
    if not os.access(binary, os.X_OK):
        raise SystemExit(f"expected the path of a UBCSAT binary with SATenstein in {VARIABLE} or --binary, got {binary!r}")
    if words == ["--version"]:
        import hashlib

        print(f"SATenstein, sha256 {hashlib.sha256(Path(binary).read_bytes()).hexdigest()[:16]}")
        return
    seed, instance, *parameters = words
    os.execv(binary, command(binary, seed.removeprefix("--seed="), instance, parameters))  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
