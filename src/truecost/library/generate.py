"""One instance of a built-in scenario: `python -m truecost.library.generate SCENARIO SIZE SEED
FILE`.
"""

import sys
from pathlib import Path

import numpy as np

from truecost.library.catalogue import SCENARIOS


def main() -> None:
    """Draw it from the seed, and write it."""
    name, size, seed, file = sys.argv[1:]
    path = Path(file)
    path.write_text(
        SCENARIOS[name].sizes[size].make(np.random.default_rng(int(seed)), f"seed-{seed}")
    )


if __name__ == "__main__":
    main()
