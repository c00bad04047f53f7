"""Everything claimed about a set of runs, computed once: all commands take their numbers here."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, Refusal
from truecost.judge.costs import Costs, check_has_runs, check_names, costs_of
from truecost.judge.evidence import Evidence, fixed_before, gather_evidence, incumbent_of
from truecost.judge.optimism import (
    Noise,
    Optimism,
    OverTuning,
    Spread,
    correction,
    noise_of,
    optimism_of,
    over_tuning_of,
    spread_of,
)
from truecost.judge.parts import AUDITED as AUDITED
from truecost.judge.parts import Part as Part
from truecost.judge.question import Primary, Question, Stream
from truecost.judge.scope import Scope, check_weights, fresh_instances, rows_of, scope_of, units_of
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
from truecost.runs import Trajectory, is_usual
from truecost.stats.utility import Utility

if TYPE_CHECKING:  # a part loads what computes it when it is first asked for
    import polars as pl

    from truecost.judge.beside import Beside
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.outlook import Outlook, Reach
    from truecost.stats.approximate import Approximate
    from truecost.stats.quantities import Quantity


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Assessment(Spoken):
    """Everything claimed about a set of runs. Parts are computed when first asked for.

    Attributes
    ----------
    log
        The runs, and what is known of where they come from.
    question
        What was asked.
    test, tested_by
        Runs on fresh instances, if there are any, and how they came about, if their log says so.

    Examples
    --------
    >>> assessment = tc.assess("kissat")
    >>> assessment.incumbent, assessment.default
    ('0fa88eb8a1', '2cb96f70a0')
    >>> assessment.to_frame()["quantity"].to_list()[:2]
    ['mean', 'solved share']
    """

    log: Import
    question: Question
    test: CostMatrix | None
    tested_by: Trajectory | None = None

    # ---- what the runs show by themselves, without a guarantee -----------------------------------

    def __post_init__(self) -> None:
        if self.log.utility is not None:
            Utility.parse(self.log.utility)
        check_names(self.matrix, self.question.default)
        if self.question.configuration is not None:
            check_has_runs(self.matrix, self.question.configuration)
        if self.question.chosen == "before":
            fixed_before(self.matrix, self.question.configuration)
        _ = self._test_rows  # which says what is missing
        check_weights(self.log.matrix if self.test is None else self.test, self.scope)

    @cached_property
    def scope(self) -> Scope:
        """What was sampled, and what statements are about."""
        question, fixed = self.question, self.trajectory.watched or self.trajectory.fixed
        judged = fixed is not None and not is_usual(fixed)
        return scope_of(
            self.test if judged and self.test is not None else self.log.matrix,
            sampled=question.sampled,
            about=question.about,
            population=question.population,
            mix=None if question.mix is None else dict(question.mix),
            weights=None if question.weights is None else dict(question.weights),
        )

    @cached_property
    def rows(self) -> CostMatrix:
        """The runs as samples take them: one row for each instance, or for each seed."""
        return rows_of(self.log.matrix, self.scope, scores=self.trajectory.maximised)

    @cached_property
    def matrix(self) -> CostMatrix:
        """The training runs, one column for each sampling unit."""
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
        """The configuration that is judged: as asked, else the log's, else the one with the lowest
        training cost.
        """
        return self.question.configuration or incumbent_of(self.matrix, self.trajectory)

    @cached_property
    def default(self) -> str | None:
        """What it should be better than, if known."""
        # A log may name a default that it has no runs of.
        logged = self.trajectory.default
        known = logged if logged in self.matrix.configurations else None
        return self.question.default or known

    @cached_property
    def place(self) -> int:
        """The row of the incumbent."""
        return self.matrix.configurations.index(self.incumbent)

    @property
    def adaptive(self) -> bool:
        """Whether configurations were made from costs on these instances."""
        return self.trajectory.proposed == "adaptively"

    @property
    def scored(self) -> bool:
        """Whether costs are minus a score, and nothing says which runs failed."""
        return self.trajectory.maximised and not self.log.matrix.has_statuses

    @cached_property
    def fresh(self) -> CostMatrix | None:
        """The test runs on instances not used in training; None without any."""
        return None if self._fresh_rows is None else units_of(self._fresh_rows, self.scope)

    @cached_property
    def _fresh_rows(self) -> CostMatrix | None:
        test = self._test_rows
        if test is None or not (new := fresh_instances(self.rows, test, self.scope)):
            return None
        return test.select(instances=new)

    @cached_property
    def _test_rows(self) -> CostMatrix | None:
        if self.test is None:
            return None
        if self.scope.sampled == "family" and self.test.families is None:
            raise InputError("Expected the `families` of the test instances, and they have none.")
        return rows_of(self.test, self.scope, scores=self.trajectory.maximised)

    @cached_property
    def tested(self) -> Mapping[str, float]:
        """Mean costs of configurations with runs on fresh test instances."""
        if self.fresh is None:
            return {}
        means = zip(self.fresh.configurations, costs_of(self.fresh).training.tolist(), strict=True)
        return {name: cost for name, cost in means if math.isfinite(cost)}

    def true_cost(self, name: str) -> float:
        """The estimate of a configuration's true cost; NaN is unknown."""
        if name in self.tested:
            return self.tested[name]
        if name == self.incumbent:
            return self.optimism.true_cost
        place = self.matrix.configurations.index(name)
        training = float(self.costs.training[place])
        if name == self.default:
            return training  # it was not chosen by these costs
        if self.adaptive:
            return math.nan
        return training + correction(self.costs.compared, place, self.optimism.selection_error)

    @cached_property
    def optimism(self) -> Optimism:
        """What the incumbent's training cost hides."""
        tuned = self.adaptive and self.incumbent != self.trajectory.default
        # Splits of instances say nothing about new seeds on these same ones, nor about another mix.
        fixed = self.scope.about == "these" and self.scope.unit == "instance"
        fixed = fixed or self.scope.reweighted
        return optimism_of(
            self.costs,
            self.place,
            self.tested.get(self.incumbent, math.nan),
            adaptive=tuned or fixed,
            fixed=self.question.chosen == "before",
            splits=self.question.splits,
            rng=self.question.rng(Stream.SPLITS),
        )

    @cached_property
    def over_tuning(self) -> OverTuning:
        """Whether an earlier incumbent was better."""
        names = self.matrix.configurations
        return over_tuning_of(self.costs, names, self.incumbent, self.trajectory, self.tested)

    @cached_property
    def noise(self) -> Noise:
        """Where the noise in the incumbent's training cost comes from."""
        return noise_of(self.matrix, self.costs, self.place, self.question.rng(Stream.NOISE))

    @cached_property
    def spread(self) -> Spread:
        """How the incumbent's runs were spread."""
        return spread_of(self.matrix, self.costs, self.place)

    @cached_property
    def failed(self) -> FloatArray:
        """The share of each configuration's runs that failed; censored ones have not."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.matrix.failed.sum(axis=(1, 2)) / self.costs.runs)

    @cached_property
    def censored(self) -> IntArray:
        """How many runs of each configuration were stopped at a cap."""
        return np.asarray(self.matrix.censored.sum(axis=(1, 2)))

    @property
    def failed_known(self) -> bool:
        """Whether statuses, or the highest possible cost, tell which runs failed."""
        ranged = math.isfinite(self.matrix.high) and not self.scored
        return self.log.matrix.has_statuses or ranged

    # ---- what may be claimed ---------------------------------------------------------------------

    @cached_property
    def own_evidence(self) -> Evidence | Refusal:
        """What statements about the configuration alone may use, or why there are none."""
        return self._gathered(self.incumbent)

    @cached_property
    def pair_evidence(self) -> Evidence | Refusal:
        """What statements against the default may use, or why there are none."""
        return self._gathered(self.incumbent, *([] if self.default is None else [self.default]))

    @cached_property
    def pair(self) -> tuple[Evidence, str] | Refusal:
        """What statements against the default use, and its name; or why there are none."""
        evidence = self.pair_evidence
        if isinstance(evidence, Refusal):
            return evidence
        if self.default is None:
            return Refusal("no default is known")
        if evidence.configuration == self.default:
            return Refusal(
                f"the default is the best on the random fifth of the {self.scope.plural} that was "
                "used to choose"
            )
        return evidence, self.default

    def _gathered(self, *names: str) -> Evidence | Refusal:
        """Evidence on the first of these; from test runs only if all have some."""
        test = self._test_rows if self.question.chosen in (None, "test") else None
        # A comparison on test runs needs both of them there; else training runs are asked.
        missing = [] if test is None else [n for n in names if n not in test.configurations]
        # Without a name on-part certifies the winner of the part that chooses, under its own name.
        used = None if missing else test
        evidence = gather_evidence(
            self.rows, self.question, self.trajectory, used, self.scope, self.tested_by
        )
        if isinstance(evidence, Evidence) or not missing:
            return evidence
        lacking = " and ".join(
            "the default" if name == self.default else f"configuration {name}" for name in missing
        )
        have = "has" if len(missing) == 1 else "have"
        return Refusal(f"{lacking} {have} no test runs, and {evidence.reason}")

    @property
    def evidence(self) -> Evidence | None:
        """What the certificate was made from; None if there is none."""
        return None if isinstance(self.own_evidence, Refusal) else self.own_evidence

    @cached_property
    def _alone(self) -> Mapping[str, Statement | Refusal]:
        """Statements about the configuration by itself."""
        from truecost.stats.quantities import ALONE

        return self._stated(ALONE, self.own_evidence)

    @cached_property
    def paired(self) -> Mapping[str, Statement | Refusal]:
        """Statements about the configuration against the default."""
        from truecost.stats.quantities import PAIRED

        pair = self.pair
        return self._stated(PAIRED, *((pair,) if isinstance(pair, Refusal) else pair))

    def _stated(
        self, which: "Sequence[Quantity]", evidence: Evidence | Refusal, default: str | None = None
    ) -> Mapping[str, Statement | Refusal]:
        from truecost.judge.sampling import statements_of

        if isinstance(evidence, Refusal):
            return {quantity.name: evidence for quantity in which}
        unknown = {}
        if self.scored:
            reason = Refusal("scores do not say which runs were solved")
            unknown = {quantity.name: reason for quantity in which if "solved" in quantity.name}
        return statements_of(which, evidence, default, self.question, unknown)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Every guarantee, about one configuration: first of it alone, then against the default."""
        stated = [*self._alone.values(), *(self.paired.values() if self._same_winner else ())]
        return tuple(statement for statement in stated if isinstance(statement, Statement))

    @property
    def _same_winner(self) -> bool:
        """Whether statements alone and against the default are about one configuration."""
        # One table must be; on-part may have another winner than the one with test runs.
        alone, pair = self.own_evidence, self.pair_evidence
        return isinstance(alone, Refusal) or (
            isinstance(pair, Evidence) and pair.configuration == alone.configuration
        )

    @property
    def refusals(self) -> Mapping[str, str]:
        """Why other statements cannot be made, by the names of their quantities."""
        stated = [*self._alone.items(), *self.paired.items()]
        return {name: item.reason for name, item in stated if isinstance(item, Refusal)}

    @cached_property
    def certificate(self) -> Certificate | None:
        """What the true cost does not exceed; for on-part, that of the chosen part's winner."""
        mean = self._alone["mean"]
        if isinstance(mean, Refusal):
            return None
        return Certificate.of(mean, maximised=self.trajectory.maximised)

    @property
    def no_certificate(self) -> str | None:
        """Why there is none."""
        return getattr(self._alone["mean"], "reason", None)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The configuration against the default; None without a default, or if it is that."""
        if self.default is None or self.incumbent == self.default:
            return None
        used, name = None, self.incumbent
        if not isinstance(self.pair, Refusal):
            used = self.pair[0].against(self.default)
            name, rows, tested = used.configuration, used.runs, used.chosen == "test"
            runs = rows
        else:
            # Nothing may be claimed; what was seen is shown all the same, of test runs if both have
            # some.
            fresh = self._fresh_rows or self.rows
            tested = fresh is not self.rows and {name, self.default} <= set(fresh.configurations)
            rows = fresh if tested else self.rows
            runs = units_of(rows, self.scope)
        return Comparison(
            statement=self.paired["difference"],
            evidence=used,
            configuration=name,
            default=self.default,
            on="test" if tested else "training",
            runs=runs,
            pairs=pairs_of(rows, self.scope, name, self.default),
        )

    @property
    def pairs(self) -> Pairs:
        """The differences to the default behind the comparison, instance by instance."""
        return Pairs() if self.comparison is None else self.comparison.pairs

    @property
    def compared(self) -> CostMatrix:
        """The runs behind the comparison; without one, all."""
        return self.matrix if self.comparison is None else self.comparison.runs

    @cached_property
    def approximate(self) -> "tuple[Approximate, ...]":
        """Approximate intervals of the means against the default, by normal theory."""
        from truecost.judge.sampling import approximate_of

        if isinstance(self.pair, Refusal):
            return ()
        return approximate_of(*self.pair, delta=self.question.delta, scored=self.scored)

    def forecast(self, what: str, *, power: float = 0.8) -> "Reach":
        """How many new instances would show a statement, "wins" or "speed-up=1.5" for instance, if
        they are like these.
        """
        from truecost.judge.outlook import reach_of

        return reach_of(self, what, power=power)

    @property
    def wins(self) -> Statement | None:
        """The statement of wins against the default, if there is one."""
        stated = self.paired["wins"] if self._same_winner else None
        return stated if isinstance(stated, Statement) else None

    @property
    def primary(self) -> Primary:
        """Which statement decides whether it is better than the default."""
        watched = self.trajectory.watched
        if self.question.primary is None and watched is not None:
            return "wins" if watched.primary == "wins" else "mean"
        return self.question.primary or ("mean" if math.isfinite(self.matrix.width) else "wins")

    @property
    def grade(self) -> Grade:
        """Whether it is shown to be better or worse than the default, by the primary statement."""
        statement = self.wins if self.primary == "wins" else self.comparison
        return (statement is not None and statement.grade) or "open"

    @property
    def grade_if_met(self) -> Grade:
        """The grade if the condition of the primary statement, if it has one, is met."""
        statement = self.paired["wins" if self.primary == "wins" else "difference"]
        return (isinstance(statement, Statement) and statement.grade_if_met) or "open"

    @property
    def better(self) -> bool:
        """Whether it is shown to be better than the default, by the primary statement."""
        return self.grade == "better"

    @cached_property
    def beside(self) -> "Beside":
        """What stands beside the verdict: families, the whole list, a margin, folds."""
        from truecost.judge.beside import Beside

        return Beside(assessment=self)

    @cached_property
    def bounds(self) -> "PaperBounds | Refusal":
        """The paper's bounds with estimated variances, or why there are none."""
        from truecost.judge.bounds import paper_bounds, subject_of

        try:
            subject = subject_of(self.matrix, self.incumbent, scores=self.log.scores)
            return paper_bounds(subject, delta=self.question.delta)
        except InputError as error:
            return Refusal(str(error))

    @cached_property
    def outlook(self) -> "Outlook":
        """What it would take to know more."""
        from truecost.judge.outlook import outlook_of

        return outlook_of(self)

    # ---- in other forms --------------------------------------------------------------------------

    def to_dict(self, *parts: Part) -> dict[str, Any]:
        """The assessment as plain data: who, what it costs, and the parts asked for."""
        from truecost.judge.parts import as_plain

        return as_plain(self, *parts)

    def summary(self) -> str:
        """Verdict, statements and next step, as `truecost audit` prints them."""
        return str(import_module("truecost.show.report").summary(self))

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
        return import_module("truecost.show.report").chart(self, name)

    def __repr__(self) -> str:
        configurations, instances, runs = self.matrix.shape
        size = f"{configurations} configurations × {instances} instances × {runs} runs"
        against = "" if self.default is None else f", default {self.default!r}"
        badge = import_module("truecost.show.report").badge(self)
        return f"<Assessment: {badge}; incumbent {self.incumbent!r}{against}; {size}>"
