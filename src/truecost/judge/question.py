"""What is asked of a log."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from truecost.errors import InputError, check_choice, check_share
from truecost.matrix.log import Sampled
from truecost.matrix.reading import option, options_that_differ

Basis = Literal["test", "fixed before", "list"]
Primary = Literal["mean", "wins"]


def parse_margin(text: str) -> float:
    """Read a share of the default's cost: 0.05 for "5%"."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not text.strip().endswith("%") or not 0 <= share < math.inf:
        raise InputError(f"The margin is {text!r:.40}. Give a share of the default's cost: 5%.")
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a log; the help texts are in the fields' metadata.

    Every field is an option of the commands that judge runs and a keyword in Python.
    """

    configuration: str | None = field(
        default=None,
        metadata=option(
            "The configuration to judge; the tool's choice or the best mean unless given.",
            "--configuration",
        ),
    )
    basis: Basis | None = field(
        default=None,
        metadata=option(
            "Why the runs may be used: 'test' (fresh instances), 'fixed before' (the configuration "
            "was fixed before these runs) or 'list' (best of a list that was fixed before).",
            "--basis",
        ),
    )
    candidates: int | None = field(
        default=None,
        metadata=option(
            "How many configurations the fixed list had, discarded ones included.", "--candidates"
        ),
    )
    primary: Primary = field(
        default="mean",
        metadata=option("What decides: 'mean' (cost) or 'wins' (share of runs won).", "--primary"),
    )
    sampled: Sampled | None = field(
        default=None,
        metadata=option(
            "What counts as one independent observation: 'instance', 'family' (of similar ones) "
            "or 'seed' (of a single instance).",
            "--sampled",
        ),
    )
    margin: str | None = field(
        default=None,
        metadata=option("How much worse than the default is acceptable, such as 5%.", "--margin"),
    )
    delta: float = field(
        default=0.05, metadata=option("Probability that a guaranteed limit is wrong.", "--delta")
    )
    seed: int = field(default=0, metadata=option("Seed of all random numbers.", "--seed"))

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
        if self.candidates is not None and self.candidates < 1:
            raise InputError(f"candidates is {self.candidates}. Give the length of the list.")
        if self.candidates is not None and self.basis not in (None, "list"):
            raise InputError("candidates is for a list. Leave it out, or give the basis 'list'.")
        if self.seed < 0:
            raise InputError(f"The seed is {self.seed}. Give 0 or more.")

    @property
    def margin_share(self) -> float | None:
        """The margin as a number, 0.05 for "5%"."""
        return None if self.margin is None else parse_margin(self.margin)

    def options_that_differ(self) -> list[str]:
        """Command-line arguments that ask the same question."""
        return options_that_differ(self)
