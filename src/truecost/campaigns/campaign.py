"""What gather, configure and validate share: the journal, the pool, progress, and when first runs
say that the scenario is wrong.

A search uses a `Campaign` like this:

    while purse.left() >= 1:
        campaign.submit(Task(configuration=…, instance=…, number=…, seed=…, cap=…))
        for finished in campaign.wait():    # written to the journal already
            …
        campaign.journal.event("heat", {…})  # on disk with the next commit

and rebuilds its state from `campaign.journal.events()` and `campaign.journal.table()`.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from truecost.campaigns.budget import Budget, Tally
from truecost.journal.journal import Journal, Kind
from truecost.running.pools import Finished, Pool, Task
from truecost.running.scenario import Scenario
from truecost.runs import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign is.

    `spent` is in the budget's unit; `runs` includes those of earlier calls. A search fills
    `configurations`, `incumbent` and `estimate` (its training cost); a validation `instances`,
    `estimate` and `interval` of the `quantity` that decides.
    """

    phase: str
    spent: float
    budget: Budget
    runs: int
    cpu: float
    workers: int
    configurations: int = 0
    instances: int = 0
    incumbent: str | None = None
    estimate: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))
    quantity: str = ""
    outcomes: Mapping[Status, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return min(1.0, self.spent / self.budget.amount)


class Execution(TypedDict, total=False):
    """How runs are executed: keywords that gather, configure and validate share."""

    pool: Any
    workers: int | None
    pin: bool
    keep_going: bool
    progress: Callable[[Progress], None] | None


class Campaign:
    """A journal open for writing and a pool, opened when the first run is needed.

    Attributes
    ----------
    scenario, journal
        What is run; where it is recorded. `journal.event(kind, data)` records a decision.
    training, test
        Tallies of recorded runs: on `held_out` instances they are test runs.
    out
        How many submitted runs are unfinished.
    """

    scenario: Scenario
    journal: Journal
    held_out: frozenset[str]
    training: Tally
    test: Tally
    out: int

    def __init__(
        self,
        scenario: Scenario,
        journal: str | os.PathLike[str],
        kind: Kind,
        question: Mapping[str, Any],
        *,
        held_out: Iterable[str] = (),
        **execution: Unpack[Execution],
    ) -> None:
        raise NotImplementedError

    @property
    def workers(self) -> int:
        """How many runs are made at a time."""
        raise NotImplementedError

    @property
    def pool(self) -> Pool:
        """Where runs are made."""
        raise NotImplementedError

    def submit(self, task: Task) -> None:
        """Have a run made; its configuration and instance must be in the journal."""
        raise NotImplementedError

    def wait(self) -> list[Finished]:
        """The next finished runs, recorded; empty if none is out. Raises where the first runs say
        that the scenario is wrong, or a run was aborted.
        """
        raise NotImplementedError

    def make(self, tasks: Iterable[Task], take: Callable[[list[Finished]], None]) -> None:
        """Have these runs made, two per worker submitted at a time; `take` gets recorded runs.

        `tasks` is asked for the next task only when there is room, so it may depend on what `take`
        learned. When it is exhausted, unfinished runs are waited for.
        """
        raise NotImplementedError

    def report(self, **progress: Any) -> None:
        """Tell the caller how far the campaign is: the fields of `Progress` without outcomes."""
        raise NotImplementedError
