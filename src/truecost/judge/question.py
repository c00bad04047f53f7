"""What is asked of a set of runs, the margin included, and where its random numbers come from."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal, get_args
from zlib import crc32

import numpy as np

from truecost.errors import InputError, check_choice, check_share
from truecost.judge.scope import About, Sampled
from truecost.matrix.families import Weight

Primary = Literal["mean", "wins"]
Chosen = Literal["test", "before", "from-list", "weighted-list", "on-part", "progressive"]


class Stream(Enum):
    """What random numbers are drawn for; the name of a purpose seeds its stream."""

    PART = "the part of the instances that chooses"
    ORDER = "the order in which statements take the instances"
    SPLITS = "halves that choose and judge"
    NOISE = "resamples of the instances"
    FORECASTS = "samples of a pilot"
    SWEEPS = "splits of a figure"
    SIZES = "growing parts of the instances"
    ONE_SPLIT = "one split"
    FAMILIES = "the order of the instances within families"
    LIKENESS = "permutations of labels"
    WHOLE_LIST = "the order in which a whole list takes the units"
    REALISED = "the order in which realised results are taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How much more than the default is still acceptable, fixed before looking.

    A limit that is there anyway decides: the upper limit of u(winner) − u(default), or the lower
    limit of the ratio u(default)/u(winner).

    Attributes
    ----------
    kind
        "ratio": a share of the default's cost. "difference": an amount of cost.
    value
        0.05 for 5 %, or the amount.
    """

    kind: Literal["ratio", "difference"]
    value: float

    @classmethod
    def parse(cls, text: str) -> "Margin":
        """`"5%"` is a share of the default's cost, `"0.1"` an amount of cost."""
        number = text.strip().removesuffix("%")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not (value >= 0 and math.isfinite(value)):
            raise InputError(f"Expected a `margin` like 5% or 0.1, got {text!r:.40}.")
        if text.strip().endswith("%"):
            return cls(kind="ratio", value=value / 100)
        return cls(kind="difference", value=value)

    @property
    def quantity(self) -> str:
        """The statement that decides."""
        return "ratio of means" if self.kind == "ratio" else "difference"

    @property
    def needed(self) -> float:
        """What its limit has to reach."""
        return 1 / (1 + self.value) if self.kind == "ratio" else self.value

    def __str__(self) -> str:
        return f"{100 * self.value:g} %" if self.kind == "ratio" else f"{self.value:g}"

    def answer(self, limit: float, condition: str | None) -> "NonInferiority":
        """Whether a limit of the quantity that decides shows non-inferiority; not under a
        condition.
        """
        reached = limit >= self.needed if self.kind == "ratio" else limit <= self.needed
        return NonInferiority(
            margin=str(self),
            quantity=self.quantity,
            limit=limit,
            needed=self.needed,
            shown=bool(reached and condition is None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """Whether the configuration is shown to cost at most the margin more than the default.

    Attributes
    ----------
    margin
        As it was asked for, "5 %" or "0.1".
    quantity, limit, needed
        The quantity that decides; its limit, and what that has to reach.
    shown
        Whether it is shown; False is unknown, not the opposite.
    """

    margin: str
    quantity: str
    limit: float
    needed: float
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a set of runs, and what is known of them.

    Parameters
    ----------
    configuration, default
        What is judged, and its rival; by default the trajectory's, else the least training cost.
    chosen
        How the configuration was chosen, where the trajectory does not say.
    raced
        Whether costs decided who got how many runs, where the trajectory does not say.
    list_size
        For from-list: how long the list was, where not all of it has runs.
    fresh, proposal
        For progressive: the instances unused before it was proposed, and its number t, from 1.
    delta
        The error probability of each statement.
    splits
        How often the instances are split in halves.
    seed
        Of every random number.
    primary
        What decides whether the configuration is better than the default, chosen before looking:
        its mean cost, or wins. By default the mean where the range of the cost is known, wins else.
    sampled, about
        What was sampled independently, and what statements are about; see `truecost.judge.scope`.
    population
        For statements about these instances: how many there are, those without runs included.
    mix
        For statements about these families: the weight of each, or its range, in pairs.
    weights
        The weight of each instance, in pairs: of a benchmark, or with `about` new sampling weights.
    margin
        How much more than the default is acceptable, "5%" or "0.1", fixed before looking.
    """

    configuration: str | None = None
    default: str | None = None
    chosen: Chosen | None = None
    raced: bool | None = None
    list_size: int | None = None
    fresh: tuple[str, ...] | None = None
    proposal: int | None = None
    delta: float = 0.05
    splits: int = 1000
    seed: int = 0
    primary: Primary | None = None
    sampled: Sampled | None = None
    about: About | None = None
    population: int | None = None
    mix: tuple[tuple[str, Weight], ...] | None = None
    weights: tuple[tuple[str, float], ...] | None = None
    margin: str | None = None

    def __post_init__(self) -> None:
        kinds = {"chosen": Chosen, "primary": Primary, "sampled": Sampled, "about": About}
        for name, kind in kinds.items():
            if (value := getattr(self, name)) is not None:
                check_choice(f"`{name}`", value, get_args(kind))
        if self.margin is not None:
            Margin.parse(self.margin)
        check_share(self.delta, "`delta`")
        if self.splits < 1:
            raise InputError(f"Expected at least 1 of `splits`, got {self.splits}.")
        if self.list_size is not None and (
            self.list_size < 1 or self.chosen not in (None, "from-list")
        ):
            raise InputError(
                "Expected `list_size`, the length of the list, to be 1 or more, and for from-list "
                "only."
            )
        if self.chosen == "progressive":
            if self.fresh is None or self.proposal is None:
                raise InputError(
                    "Expected `fresh` instances and the number of the `proposal` for progressive."
                )
            if not 1 <= self.proposal <= 10**9:
                raise InputError(
                    f"Expected the number of the `proposal` from 1 to 10^9, got {self.proposal}."
                )
        elif self.fresh is not None or self.proposal is not None:
            raise InputError("Expected `fresh` instances and a `proposal` for progressive only.")

    def rng(self, stream: Stream) -> np.random.Generator:
        """A separate stream for each purpose: no number depends on what else was drawn."""
        return np.random.default_rng([self.seed, crc32(stream.value.encode())])
