"""A log: training runs, test runs, and everything else that is known about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.reading import Reading
from truecost.runs import Caveat

Sampled = Literal["instance", "family", "seed"]


class Step(NamedTuple):
    """The best configuration so far, after `runs` training runs (None: not counted)."""

    runs: int | None
    configuration: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was recorded before the first run, and decides which statements are valid.

    Attributes
    ----------
    order
        The instances in their recorded order. Statements use its longest prefix of instances (or
        families) whose runs are all done. Instances that were added later come at the end.
    planned
        How many instances (families where those are sampled) the first plan had.
    candidates
        The configurations fixed when the journal began; empty: all of the runs. Configurations
        added later have estimates, no statements.
    runs
        Runs per instance of the first plan. Runs added later improve estimates only.
    share
        The share of δ that belongs to these runs.
    delta, primary, margin, sampled
        Fixed in advance; `primary` and `margin` may be left open.
    watched
        Whether results are looked at after every unit. False: one look is meant, at the planned
        end, and all others share what it leaves of δ.
    """

    order: tuple[str, ...]
    planned: int
    candidates: tuple[str, ...] = ()
    runs: int = 1
    share: float = 1.0
    delta: float = 0.05
    primary: str | None = None
    margin: str | None = None
    sampled: Literal["instance", "family"] = "instance"
    watched: bool = True

    def __post_init__(self) -> None:
        if self.planned < 1 or self.runs < 1 or not 0 < self.share <= 1:
            raise InputError(
                f"A recorded plan has {self.planned} units, {self.runs} runs each and the share "
                f"{self.share:g} of δ. Use a journal that truecost wrote."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Log:
    """What an importer, a journal or an example gives, and what is judged.

    Parameters
    ----------
    runs
        The training runs, or all the runs there are.
    test
        Runs on fresh instances.
    tool
        What made the runs: "irace 4.4.0", "SMAC3 2.4.1", "truecost configure", "table".
    path, reading, scenario
        Where the log is, as the user typed it; the options it was read with; the file that says how
        the solver is run, where a journal names one. For printed commands.
    default, incumbent
        The default configuration, and the one the tool chose in the end.
    adaptive
        True: configurations were proposed from costs (SMAC3, irace, `configure`). False: the list
        was fixed before the first run. None: unknown.
    listed
        How long the fixed list was, discarded candidates included; None: as many as have runs.
    plan, test_plan
        What was recorded before the first training run, and before the first test run.
    cost_unit
        What a cost is called in sentences, "PAR10 s" for instance; empty: "cost".
    """

    runs: CostMatrix
    test: CostMatrix | None = None
    tool: str = "table"
    path: str = ""
    scenario: str = ""
    reading: Reading = field(default_factory=Reading)
    default: str | None = None
    incumbent: str | None = None
    steps: tuple[Step, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    adaptive: bool | None = None
    listed: int | None = None
    plan: Plan | None = None
    test_plan: Plan | None = None
    cost_unit: str = ""
    maximised: bool = False
    caveats: tuple[Caveat, ...] = ()

    def replace(self, **changes: Any) -> "Log":
        """The same log with other values of these fields."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        test = "" if self.test is None else f", {len(self.test.instances)} test instances"
        names = f"incumbent {self.incumbent!r}, default {self.default!r}"
        return f"<Log of {self.tool}: {self.runs}{test}, {names}>"
