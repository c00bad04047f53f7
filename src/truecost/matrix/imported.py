"""Runs with everything else a log says of them: what every importer gives, and what is judged."""

import secrets
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import counted
from truecost.matrix.cost_matrix import CostMatrix
from truecost.runs import Trajectory

# Costs with fewer values than this say little about the instances they belong to.
FEW_VALUES = 16
# Formats that do not say whether less or more is better.
DIRECTIONLESS = ("table", "wide", "trackers")
Scalar = str | int | float | bool | None


def few_values(costs: FloatArray) -> bool:
    """Whether costs have too few values to draw an order from them."""
    known = costs[~np.isnan(costs)]
    # Most matrices are settled by their first thousand costs.
    return all(np.unique(part).size <= FEW_VALUES for part in (known[:1000], known))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Import:
    """What was in a log.

    Parameters
    ----------
    kind
        The name of the importer: `"smac"`, `"irace"`, `"table"`, `"journal"`, …
    matrix
        The runs.
    trajectory
        Where the configurations come from.
    parameters
        The values of the parameters of each configuration, where the log has them.
    origins
        How each configuration was proposed, in the tool's own words.
    test
        Runs the tool made on test instances.
    left_out
        How many runs are not in the matrix, by reason.
    notes
        What was assumed or changed on the way, in sentences.
    columns
        For tables: which column was taken for what.
    switches
        What irace puts before the value of each parameter, such as `"--alpha "`.
    weights
        The weight of each instance, where a table has a column of them; used if asked for.
    obstacle
        Why what was run cannot be run again from the log alone; None where it can, or where nobody
        knows.

    Examples
    --------
    >>> tc.import_runs("kissat").matrix
    CostMatrix(50 configurations x 50 instances x 5 runs, costs in [0, 5])
    """

    kind: str
    matrix: CostMatrix
    trajectory: Trajectory
    parameters: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    test: CostMatrix | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    obstacle: str | None = None

    @property
    def scores(self) -> bool:
        """Whether `low` and `high` are meant of scores, of which costs are the negative."""
        return self.trajectory.maximised and self.kind in DIRECTIONLESS

    @property
    def omissions(self) -> list[str]:
        """What was left out, and why, in sentences."""
        return [
            f"{counted(count, _noun(reason))} left out: {reason.removeprefix('trials ')}."
            for reason, count in self.left_out.items()
        ]

    @property
    def omitted(self) -> str:
        """How much was left out, "2 trials and 1 run" for instance; empty where nothing was."""
        totals: Counter[str] = Counter()
        for reason, count in self.left_out.items():
            totals[_noun(reason)] += count
        return " and ".join(counted(total, noun) for noun, total in totals.items())

    @property
    def utility(self) -> str | None:
        """Where costs are 1 − utility of running times: which, `"half-life=60"` for instance."""
        return self.matrix.utility

    def arguments(self, configuration: str) -> str:
        """The parameters of a configuration as arguments to paste: irace's own, where its switches
        are known, which a shell splits as it does for irace; else `--name=value`.
        """
        values = {
            name: str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
            for name, value in self.parameters.get(configuration, {}).items()
        }
        # Without any switch, values belong to an R function.
        if any(self.switches.values()) and all(name in self.switches for name in values):
            return " ".join(f"{self.switches[name]}{value}" for name, value in values.items())
        return shlex.join(f"--{name}={value}" for name, value in values.items())

    def trajectory_to_keep(self) -> Trajectory:
        """The trajectory as it is saved with the runs: with a random number to draw the order of
        bets from, where costs have too few values to do so.
        """
        if self.trajectory.order_seed is not None or not few_values(self.matrix.costs):
            return self.trajectory
        return replace(self.trajectory, order_seed=secrets.randbits(62))

    def __repr__(self) -> str:
        configurations, instances, runs = self.matrix.shape
        size = f"{configurations} configurations × {instances} instances × {runs} runs"
        roles = {"incumbent": self.trajectory.incumbent, "default": self.trajectory.default}
        known = "".join(f", {role} {name!r}" for role, name in roles.items() if name is not None)
        return f"<Import: {self.kind}, {size}{known}>"

    def _repr_html_(self) -> str:
        return str(import_module("truecost.show.report").runs_fragment(self))


def _noun(reason: str) -> str:
    """What was left out for this reason: a trial may be many runs."""
    return "trial" if reason.startswith("trials ") else "run"
