"""What is asked of a log."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from truecost.errors import InputError, check_choice, check_count, check_share
from truecost.matrix.log import Sampled
from truecost.matrix.reading import option, options_that_differ

Basis = Literal["test", "fixed before", "list"]
Primary = Literal["mean", "wins"]


def parse_margin(margin: str) -> float:
    """Read a share of the default's cost: 0.05 for "5%"."""
    text = str(margin).strip()
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not text.endswith("%") or not 0 <= share < math.inf:
        raise InputError(f"The margin is {margin!r:.40}. Give a share of the default's cost: 5%.")
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a log.

    Every field is an option of the commands that judge runs and a keyword in Python.

    Attributes
    ----------
    configuration
        The configuration to judge; the tool's choice or the best mean unless given.
    basis
        Why the runs may be used: "test" (fresh instances), "fixed before" (the configuration was
        fixed before these runs) or "list" (best of a list that was fixed before).
    sampled
        What counts as one independent observation: "instance", "family" (of similar ones) or "seed"
        (of a single instance).
    """

    configuration: str | None = option(
        "The one to judge, not the tool's choice or the best.", "NAME"
    )
    basis: Basis | None = option("How it was chosen: test, fixed-before or list.", "WHY")
    candidates: int | None = option("Length of the list, discarded ones included.", "N")
    primary: Primary = option("What decides: mean (cost) or wins.", "WHAT", default="mean")
    sampled: Sampled | None = option("Independent units: instance, family or seed.", "UNIT")
    margin: str | None = option("How much worse is acceptable: 5%.", "SHARE")
    delta: float = option("Probability that a limit is wrong.", "X", default=0.05)
    seed: int = option("Seed of all random numbers.", "N", default=0)

    def __post_init__(self) -> None:
        if self.basis is not None:
            # Nobody wants to type a space on a command line.
            object.__setattr__(self, "basis", self.basis.replace("-", " "))
            check_choice("basis", self.basis, get_args(Basis))
        check_choice("primary", self.primary, get_args(Primary))
        if self.sampled is not None:
            check_choice("sampled", self.sampled, get_args(Sampled))
        if self.margin is not None:
            parse_margin(self.margin)
        check_share(self.delta)
        if self.candidates is not None:
            check_count("candidates", self.candidates)
            if self.basis not in (None, "list"):
                raise InputError("candidates is for a list. Leave it out, or give the basis list.")
        check_count("seed", self.seed, 0)

    @property
    def margin_share(self) -> float | None:
        """The margin as a number, 0.05 for "5%"."""
        return None if self.margin is None else parse_margin(self.margin)

    def options_that_differ(self) -> list[str]:
        """Command-line arguments that ask the same question."""
        return options_that_differ(self)
