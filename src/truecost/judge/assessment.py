"""Everything that is said of a set of runs, computed once: whoever speaks of them takes the numbers
from here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge.costs import Costs, check_has_runs, check_names, costs_of
from truecost.judge.evidence import (
    Evidence,
    fixed_before,
    gather_evidence,
    incumbent_of,
)
from truecost.judge.noise import Heaviest, Noise, Spread, heaviest_of, noise_of, spread_of
from truecost.judge.optimism import Optimism, OverTuning, correction, optimism_of, over_tuning_of
from truecost.judge.question import Primary, Question, Stream
from truecost.judge.refusal import Refusal
from truecost.judge.scope import Scope, fresh_instances, rows_of, scope_of, units_of
from truecost.judge.statements import (
    Certificate,
    Comparison,
    Grade,
    Pairs,
    Spoken,
    Statement,
    pairs_of,
)
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import Trajectory
from truecost.stats.utility import Utility

if TYPE_CHECKING:  # a part loads what it is computed with when it is asked for
    import polars as pl

    from truecost.judge.beside import Beside
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.outlook import Outlook, Reach, Selected
    from truecost.paper.fit import Fit
    from truecost.paper.one_split import OneSplit
    from truecost.stats.approximate import Approximate
    from truecost.stats.confidence import UpperBySize
    from truecost.stats.forecast import Width

# Fewer instances than this have no halves to speak of.
FEWEST_TO_SWEEP = 8
NO_PAIRS = Pairs((), *[np.empty(0)] * 4)
FloatArray = NDArray[np.float64]
Part = Literal[
    "configurations",
    "certificate",
    "comparison",
    "statements",
    "refusals",
    "shown_better",
    "approximate",
    "optimism",
    "noise",
    "over_tuning",
    "bounds",
    "outlook",
    "families",
    "whole_list",
    "non_inferiority",
    "realised",
    "folds",
]
AUDITED: tuple[Part, ...] = (
    "certificate",
    "comparison",
    "statements",
    "refusals",
    "shown_better",
    "approximate",
    "optimism",
    "noise",
    "over_tuning",
    "families",
    "whole_list",
    "non_inferiority",
    "realised",
    "folds",
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Assessment(Spoken):
    """Everything that is said of a set of runs. Parts are computed when first asked for.

    Attributes
    ----------
    log
        The runs, and what is known of where they come from.
    asked
        What was asked.
    test, tested_by
        Runs on fresh instances, where there are some, and how they came about, where a log of their
        own says so.
    """

    log: Import
    asked: Question
    test: CostMatrix | None
    tested_by: Trajectory | None = None

    # ---- what the runs show by themselves, without a guarantee -----------------------------------

    def __post_init__(self) -> None:
        if self.log.utility is not None:
            Utility.parse(self.log.utility)
        check_names(self.matrix, self.asked.default)
        if self.asked.configuration is not None:
            check_names(self.matrix, self.asked.configuration)
            check_has_runs(self.matrix, self.asked.configuration)
        if self.asked.chosen == "before":
            fixed_before(self.matrix, self.asked.configuration)
        _ = self._test_rows  # which says what is missing

    @cached_property
    def scope(self) -> Scope:
        """What was sampled, and what statements are about."""
        asked, watched = self.asked, self.trajectory.watched
        validated = self.test is not None and watched is not None and not watched.usual
        return scope_of(
            self.test if validated and self.test is not None else self.log.matrix,
            sampled=asked.sampled,
            about=asked.about,
            population=asked.population,
            mix=None if asked.mix is None else dict(asked.mix),
        )

    @cached_property
    def rows(self) -> CostMatrix:
        """The runs as samples take them: one row for each instance, or for each seed."""
        return rows_of(self.log.matrix, self.scope)

    @cached_property
    def matrix(self) -> CostMatrix:
        """The runs that were there when the configuration was chosen, one column for each sampling
        unit: an instance, or what else was sampled.
        """
        return units_of(self.rows, self.scope)

    @property
    def trajectory(self) -> Trajectory:
        """Where the configurations come from."""
        return self.log.trajectory

    @cached_property
    def costs(self) -> Costs:
        """Training costs of all configurations."""
        return costs_of(self.matrix)

    @cached_property
    def incumbent(self) -> str:
        """The configuration that was chosen: as asked, else the log's, else the one with the least
        training cost.
        """
        return self.asked.configuration or incumbent_of(self.matrix, self.trajectory)

    @cached_property
    def winner_by_instances(self) -> str:
        """The configuration that would be chosen if every instance had the same weight."""
        return incumbent_of(self.log.matrix, self.trajectory)

    @cached_property
    def default(self) -> str | None:
        """What it should be better than, where known."""
        known = (
            self.trajectory.default
            if self.trajectory.default in self.matrix.configurations
            else None
        )
        return self.asked.default or known

    @cached_property
    def own(self) -> int:
        """The place of the incumbent."""
        return self.matrix.configurations.index(self.incumbent)

    @property
    def adaptive(self) -> bool:
        """Whether configurations were made from costs on these instances."""
        return self.trajectory.proposed == "adaptively"

    @cached_property
    def fresh(self) -> CostMatrix | None:
        """The test runs on instances that training has not seen; None without any."""
        test = self._test_rows
        new = [] if test is None else fresh_instances(self.rows, test, self.scope)
        return (
            units_of(test.select(instances=new), self.scope) if test is not None and new else None
        )

    @cached_property
    def _test_rows(self) -> CostMatrix | None:
        if self.test is None:
            return None
        if self.scope.sampled == "family" and self.test.families is None:
            raise InputError("Expected the `families` of the test instances, and they have none.")
        return rows_of(self.test, self.scope)

    @cached_property
    def tested(self) -> Mapping[str, float]:
        """Mean costs on test instances that training has not seen, of those that have runs there."""
        if self.fresh is None:
            return {}
        means = zip(self.fresh.configurations, costs_of(self.fresh).training.tolist(), strict=True)
        return {name: cost for name, cost in means if math.isfinite(cost)}

    def true_cost(self, name: str) -> float:
        """The estimate of a configuration's true cost; NaN is unknown."""
        if name in self.tested:
            return self.tested[name]
        training = float(self.costs.training[self.matrix.configurations.index(name)])
        if name == self.incumbent:
            return self.optimism.true_cost
        if name == self.default:
            # It was there before any cost was seen: nothing was chosen by these.
            return training
        if self.adaptive:
            return math.nan
        place = self.matrix.configurations.index(name)
        return training + correction(self.costs.compared, place, self.optimism.selection_error)

    @cached_property
    def optimism(self) -> Optimism:
        """What the incumbent's training cost hides."""
        return optimism_of(
            self.costs,
            self.own,
            self.tested.get(self.incumbent, math.nan),
            adaptive=self.adaptive and self.incumbent != self.trajectory.default,
            fixed=self.asked.chosen == "before",
            splits=self.asked.splits,
            rng=self.asked.rng(Stream.SPLITS),
        )

    @property
    def expected_difference(self) -> float | None:
        """The mean difference to the default on new instances: what was observed, corrected for the
        choice; None where there is nothing to correct, or no telling by how much.
        """
        comparison, optimism = self.comparison, self.optimism
        if comparison is None or comparison.on == "test" or optimism.source != "splits":
            return None
        part = isinstance(self.pair_evidence, Evidence) and self.pair_evidence.chosen == "on-part"
        if part or comparison.configuration != self.incumbent or not math.isfinite(optimism.gap):
            return None
        return comparison.observed + optimism.gap

    @cached_property
    def heaviest(self) -> Heaviest | None:
        """The instance that makes up most of the incumbent's mean cost, where one does: on test
        runs if it has some.
        """
        if self.fresh is not None and self.incumbent in self.tested:
            return heaviest_of(self.fresh, self.incumbent, "test")
        return heaviest_of(self.matrix, self.incumbent, "training")

    @cached_property
    def over_tuning(self) -> OverTuning:
        """Whether the search went past something better."""
        names = self.matrix.configurations
        return over_tuning_of(self.costs, names, self.incumbent, self.trajectory, self.tested)

    @cached_property
    def noise(self) -> Noise:
        """Where the noise in the incumbent's training cost comes from."""
        return noise_of(self.matrix, self.costs, self.own, self.asked.rng(Stream.NOISE))

    @cached_property
    def spread(self) -> Spread:
        """How the incumbent's runs were spread."""
        return spread_of(self.matrix, self.costs, self.own)

    @cached_property
    def failed(self) -> FloatArray:
        """The share of each configuration's runs that failed; censored ones have not."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.matrix.failed.sum(axis=(1, 2)) / self.costs.runs)

    @cached_property
    def censored(self) -> NDArray[np.int64]:
        """How many runs of each configuration were stopped at a cap."""
        return np.asarray(self.matrix.censored.sum(axis=(1, 2)))

    @property
    def failed_known(self) -> bool:
        """Whether statuses, or the highest possible cost, tell which runs failed."""
        return self.matrix.has_statuses or math.isfinite(self.matrix.high)

    # ---- what may be said ------------------------------------------------------------------------

    @cached_property
    def own_evidence(self) -> Evidence | Refusal:
        """What statements about the configuration alone may use, or why nothing."""
        return self._gathered(self.incumbent)

    @cached_property
    def pair_evidence(self) -> Evidence | Refusal:
        """What statements against the default may use, or why nothing."""
        return self._gathered(self.incumbent, *([] if self.default is None else [self.default]))

    def _gathered(self, *names: str) -> Evidence | Refusal:
        """Evidence on the first of these; from test runs only if all have some."""
        test, asked_for = self._test_rows, self.asked.chosen in (None, "test")
        missing = (
            [] if test is None else [name for name in names if name not in test.configurations]
        )
        # Without a name on-part certifies the winner of the part that chooses, under its own name.
        evidence = gather_evidence(
            self.rows,
            self.asked.configuration,
            self.asked,
            self.trajectory,
            test if asked_for and not missing else None,
            self.scope,
            self.tested_by,
        )
        if isinstance(evidence, Evidence) or not (missing and asked_for):
            return evidence
        lacking = " and ".join(
            "the default" if name == self.default else f"configuration {name}" for name in missing
        )
        have = "has" if len(missing) == 1 else "have"
        return Refusal(f"{lacking} {have} no test runs, and {evidence.reason}")

    @property
    def evidence(self) -> Evidence | None:
        """What the certificate was made from; None where there is none."""
        return None if isinstance(self.own_evidence, Refusal) else self.own_evidence

    @cached_property
    def _alone(self) -> "Mapping[str, Statement | Refusal]":
        """What may be said of the configuration by itself."""
        from truecost.judge.sampling import statements_of
        from truecost.stats.quantities import ALONE

        if isinstance(self.own_evidence, Refusal):
            return {quantity.name: self.own_evidence for quantity in ALONE}
        return statements_of(ALONE, self.own_evidence, None, self.asked)

    @cached_property
    def paired(self) -> "Mapping[str, Statement | Refusal]":
        """What may be said of it against the default."""
        from truecost.judge.sampling import statements_of
        from truecost.stats.quantities import PAIRED

        evidence, default = self.pair_evidence, self.default
        if isinstance(evidence, Evidence) and default is None:
            evidence = Refusal("no default is known")
        elif isinstance(evidence, Evidence) and evidence.configuration == default:
            evidence = Refusal(
                "on the part of the instances that chooses, the default itself is the best"
            )
        if isinstance(evidence, Refusal):
            return {quantity.name: evidence for quantity in PAIRED}
        return statements_of(PAIRED, evidence, default, self.asked)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Every guarantee there is, of one configuration: first of it alone, then against the
        default.
        """
        own, pair = self.own_evidence, self.pair_evidence
        # One table speaks of one configuration: on-part may have another winner than the one with
        # test runs.
        alike = isinstance(own, Refusal) or (
            isinstance(pair, Evidence) and pair.configuration == own.configuration
        )
        stated = [*self._alone.values(), *(self.paired.values() if alike else ())]
        return tuple(statement for statement in stated if isinstance(statement, Statement))

    @property
    def refusals(self) -> Mapping[str, str]:
        """Why other statements cannot be made, by the names of their quantities."""
        stated = [*self._alone.items(), *self.paired.items()]
        return {name: item.reason for name, item in stated if isinstance(item, Refusal)}

    @cached_property
    def _certified(self) -> Certificate | Refusal:
        mean = self._alone["mean"]
        return mean if isinstance(mean, Refusal) else Certificate.of(mean)

    @property
    def certificate(self) -> Certificate | None:
        """What the true cost does not exceed; for on-part of the winner of the part that chooses."""
        return None if isinstance(self._certified, Refusal) else self._certified

    @property
    def no_certificate(self) -> str | None:
        """Why there is none."""
        return self._certified.reason if isinstance(self._certified, Refusal) else None

    @cached_property
    def comparison(self) -> Comparison | None:
        """The configuration against the default; None without a default, or where the incumbent is
        the default.
        """
        if self.default is None or self.incumbent == self.default:
            return None
        evidence = self.pair_evidence
        known = isinstance(evidence, Evidence) and evidence.configuration != self.default
        used = evidence.against(self.default) if known and isinstance(evidence, Evidence) else None
        name = self.incumbent if used is None else used.configuration
        tested = used is not None and used.chosen == "test"
        if used is None and self.fresh is not None:
            tested = {name, self.default} <= set(self.fresh.configurations)
        runs = used.runs if used is not None else self.fresh if tested else self.matrix
        return Comparison(
            statement=self.paired["difference"],
            evidence=used,
            configuration=name,
            default=self.default,
            on="test" if tested else "training",
            pairs=pairs_of(units_of(runs or self.rows, self.scope), name, self.default),
        )

    @property
    def pairs(self) -> Pairs:
        """The differences to the default that the comparison speaks of, instance by instance."""
        return NO_PAIRS if self.comparison is None else self.comparison.pairs

    @property
    def compared(self) -> CostMatrix:
        """The runs that the comparison speaks of; without one, all."""
        comparison = self.comparison
        if comparison is None:
            return self.matrix
        if comparison.evidence is not None:
            return comparison.evidence.runs
        return self.fresh if comparison.on == "test" and self.fresh is not None else self.matrix

    @cached_property
    def approximate(self) -> "tuple[Approximate, ...]":
        """What normal theory says of the means against the default: approximate, beside what is
        guaranteed.
        """
        from truecost.judge.sampling import approximate_of

        evidence, default = self.pair_evidence, self.default
        if isinstance(evidence, Refusal) or default is None or default == evidence.configuration:
            return ()
        return approximate_of(evidence, default, delta=self.asked.delta)

    @cached_property
    def width(self) -> "Width | None":
        """Where the distance between the certificate's limit and its mean comes from; None without
        one look at a range.
        """
        from truecost.stats import forecast

        said, evidence = self.certificate, self.evidence
        if said is None or evidence is None or evidence.at_all_times:
            return None
        low, high, delta = self.matrix.low, self.matrix.high, self.asked.delta * evidence.share
        return forecast.width(
            said.estimate, said.upper, low, high, instances=said.instances, delta=delta
        )

    def forecast(self, what: str, *, power: float = 0.8) -> "Reach":
        """How many new instances would show a statement, "wins" or "speed-up=1.5" for instance, if
        they are like these.
        """
        from truecost.judge.outlook import reach_of

        name = self.incumbent if self.comparison is None else self.comparison.configuration
        return reach_of(
            self.compared,
            name,
            self.default,
            what,
            selected=self.selected,
            delta=self.asked.delta,
            power=power,
            seed=self._forecasting,
            scope=self.scope,
        )

    @property
    def selected(self) -> "Selected":
        """Whether the runs that the comparison speaks of selected the configuration."""
        comparison = self.comparison
        evidence = self.own_evidence if comparison is None else comparison.evidence
        if comparison is not None and comparison.on == "test":
            return "no"
        if not isinstance(evidence, Evidence):
            return "tuned"
        listed = evidence.chosen in ("from-list", "weighted-list")
        return "from a list" if listed else "no"

    @cached_property
    def _forecasting(self) -> int:
        return int(self.asked.rng(Stream.FORECASTS).integers(2**62))

    @property
    def wins(self) -> Statement | None:
        """The statement of wins against the default, where there is one."""
        return next((each for each in self.statements if each.quantity == "wins"), None)

    @property
    def primary(self) -> Primary:
        """Which statement decides whether it is better than the default."""
        watched = self.trajectory.watched
        if self.asked.primary is None and watched is not None:
            return "wins" if watched.primary == "wins" else "mean"
        return self.asked.primary or ("mean" if math.isfinite(self.matrix.width) else "wins")

    @property
    def grade(self) -> Grade:
        """Whether it is shown to be better or worse than the default, by the primary statement."""
        if self.primary == "wins":
            return (self.wins is not None and self.wins.grade) or "open"
        return "open" if self.comparison is None else self.comparison.grade

    @cached_property
    def beside(self) -> "Beside":
        """What stands beside the verdict: families, the whole list, a margin, folds."""
        from truecost.judge.beside import Beside

        return Beside(assessment=self)

    @property
    def better(self) -> bool:
        """Whether it is shown to be better than the default, by the primary statement."""
        return self.grade == "better"

    @cached_property
    def bounds(self) -> "PaperBounds | Refusal":
        """The paper's bounds with estimated variances, or why there are none."""
        from truecost.judge.bounds import paper_bounds, subject_of

        try:
            return paper_bounds(subject_of(self.matrix, self.incumbent), delta=self.asked.delta)
        except InputError as error:
            return Refusal(str(error))

    @cached_property
    def outlook(self) -> "Outlook":
        """What it would take to know more."""
        from truecost.judge.outlook import outlook_of

        return outlook_of(
            self.matrix,
            self.costs.components[self.own],
            self.noise,
            self.comparison,
            self.compared,
            None if self.wins is None else self.wins.grade,
            selected=self.selected,
            primary=self.primary,
            delta=self.asked.delta,
            seed=self._forecasting,
            scope=self.scope,
        )

    @cached_property
    def no_sweeps(self) -> str | None:
        """Why errors against N and K cannot be had; None where they can."""
        configurations, instances, _ = self.matrix.shape
        if configurations < 2:
            return "with one configuration nothing is chosen"
        if instances < FEWEST_TO_SWEEP:
            return f"that takes {FEWEST_TO_SWEEP} instances, and there {'is' if instances == 1 else 'are'} {instances}"
        if self.matrix.counts().min() == 0:
            return "some configurations have no run on some instances"
        if self.censored.any():
            return "some runs were stopped at a cap, and what they cost is not known"
        if isinstance(self.bounds, Refusal):
            return "within and across are not known for every configuration"
        return None

    @cached_property
    def split(self) -> "OneSplit":
        """Training and test costs of all configurations on one random split."""
        from truecost.paper.one_split import one_split

        return one_split(self.matrix, rng=self.asked.rng(Stream.ONE_SPLIT))

    @cached_property
    def limits_by_size(self) -> "UpperBySize":
        """What more instances buy: limits from growing parts of the certificate's instances, in one
        random order.
        """
        from truecost.judge.curves import limits_by_size

        assert self.evidence is not None  # noqa: S101 - whoever asks has looked
        return limits_by_size(self.evidence, self.asked.delta, self.asked.rng(Stream.SIZES))

    @cached_property
    def sweeps(self) -> "tuple[tuple[pl.DataFrame, ...], tuple[Fit, ...]]":
        """Errors against N and K over random splits, and the curve of the selection error in each
        table.
        """
        from truecost.judge.curves import sweeps

        return sweeps(
            self.matrix,
            splits=self.asked.splits,
            delta=self.asked.delta,
            rng=lambda: self.asked.rng(Stream.SWEEPS),
        )

    def to_dict(self, *parts: "Part") -> dict[str, Any]:
        """The assessment as plain data: who, what it costs, and the parts asked for; the same keys
        whoever asks.
        """
        from truecost.judge.parts import as_plain

        return as_plain(self, *parts)

    def summary(self) -> str:
        """Verdict, statements and next step, as `truecost audit` prints them."""
        return str(import_module("truecost.show.notebook").summary(self))

    def to_frame(self) -> "pl.DataFrame":
        """The statements, a row each: quantity, observed value, side and limit, grade."""
        import polars as pl

        names = ("quantity", "configuration", "default", "observed", "side", "limit", "opposite")
        rows = [
            {name: getattr(statement, name) for name in (*names, "delta", "instances", "grade")}
            for statement in self.statements
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self, name: str = "scatter") -> Any:
        """A figure of the report, as an Altair chart: "scatter", "ecdf", "glance", …"""
        return import_module("truecost.show.notebook").chart(self, name)

    def __repr__(self) -> str:
        configurations, instances, runs = self.matrix.shape
        size = f"{configurations} configurations × {instances} instances × {runs} runs"
        against = "" if self.default is None else f", default {self.default!r}"
        badge = import_module("truecost.show.notebook").badge(self)
        return f"<Assessment: {badge}; incumbent {self.incumbent!r}{against}; {size}>"
