"""From a log to the verdict."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from truecost.errors import InputError, Refusal, counted, did_you_mean
from truecost.judge.assessment import Assessment, Ranked, Statement, grade_of
from truecost.judge.costs import Costs, costs_of, known_means, units_of
from truecost.judge.evidence import Evidence, gather_evidence, is_tested
from truecost.judge.likeness import likeness
from truecost.judge.pairs import SameInstances, pair_of, same_instances
from truecost.judge.question import Question
from truecost.judge.statements import make_statements
from truecost.matrix import CostMatrix, Log
from truecost.matrix.instances import named_once
from truecost.matrix.log import Sampled
from truecost.runs import Caveat
from truecost.stats import betting, selection
from truecost.stats.quantities import PLANNED_LOOK
from truecost.stats.variance import variance_components

# The set of the best compares all pairs.
MOST_LISTED: Final = 1_000
# Caveats on which the guarantees depend.
CONDITIONS: Final = ("condition", "alike", "picked")


def assess(log: Log, question: Question | None = None) -> Assessment:
    """Judge the winner of a log on instances nobody has seen.

    Parameters
    ----------
    log
        The runs.
    question
        What is asked; the defaults of `Question` where None. What a plan fixed in advance (δ, the
        primary criterion, the margin) holds unless the question says otherwise.
    """
    log = named_once(log)
    question = as_recorded(log, question or Question())
    sampled = question.sampled or (None if log.plan is None else log.plan.sampled)
    families = log.runs.families if sampled == "family" else None
    costs = costs_of(log.runs, families)
    winner, default = winner_of(log, question, costs), default_of(log)
    rival = default if default != winner else None
    evidence = gather_evidence(log, question, winner, rival)
    caveats = _caveats(log, costs, default)
    statements: tuple[Statement, ...] = ()
    ladder = best = None
    if isinstance(evidence, Evidence):
        statements, ladder = make_statements(evidence, question, winner, rival)
        caveats += _evidence_caveats(log, evidence, rival, grade_of(statements))
        if (alike := likeness(evidence, winner, rival, question.seed)) is not None:
            caveats.append(alike)
            if alike.code == "alike":
                condition = evidence.condition or alike.sentence
                evidence = replace(evidence, condition=condition)
        best = _best_set(evidence, question)
    same = training = None
    if rival is not None:
        same, training = _same_instances(log, question, evidence, winner, rival)
    caveats.sort(key=lambda caveat: caveat.code not in CONDITIONS)
    return Assessment(
        log=log,
        question=question,
        evidence=evidence,
        winner=winner,
        default=default,
        same=same,
        training=training,
        statements=statements,
        ladder=ladder,
        selection=_selection(log, question, costs, families),
        ranking=_ranking(log, evidence, costs, best),
        noise=None if (row := row_of(log, winner)) is None else variance_components(row),
        caveats=tuple(dict.fromkeys(caveats)),
    )


def as_recorded(log: Log, question: Question) -> Question:
    """The question with what the plan fixed in advance."""
    winner = question.configuration or log.incumbent or ""
    plan = log.test_plan if is_tested(log, question, winner) else log.plan
    if plan is None:
        return question
    return replace(
        question,
        delta=plan.delta if question.delta == Question().delta else question.delta,
        primary=plan.primary or question.primary,  # type: ignore[arg-type]
        margin=question.margin or plan.margin,
    )


def winner_of(log: Log, question: Question, costs: Costs) -> str:
    """The configuration that is judged: as asked, the tool's choice, or the best training cost."""
    names = (*log.runs.configurations, *(() if log.test is None else log.test.configurations))
    if (name := question.configuration) is not None:
        if name not in names:
            raise InputError(
                f"There is no configuration {name!r} in the runs.{did_you_mean(name, names)}"
            )
        return name
    if log.incumbent in names:
        return log.incumbent
    others = [name for name in log.runs.configurations if name != log.default]
    if question.basis == "fixed before" and len(others) == 1:
        return others[0]
    return log.runs.configurations[int(costs.order[0])]


def default_of(log: Log) -> str | None:
    """The default, where it has runs."""
    tables = (log.test, log.runs)
    names = [name for table in tables if table is not None for name in table.configurations]
    return log.default if log.default in names else None


def _same_instances(
    log: Log, question: Question, evidence: Evidence | Refusal, winner: str, rival: str
) -> tuple[SameInstances | None, SameInstances | None]:
    """The comparison on the runs that count, or else on what both have; and on training runs."""

    def compare(runs: CostMatrix, sampled: Sampled | None, source: str) -> SameInstances | None:
        if sampled is None:
            by_family = question.sampled == "family" and runs.families is not None
            sampled = "family" if by_family else "instance"
            sampled = "seed" if len(runs.instances) == 1 else sampled
        pair = pair_of(runs, winner, rival, sampled)
        return None if pair is None else same_instances(pair, source)  # type: ignore[arg-type]

    same = None
    if isinstance(evidence, Evidence):
        source = "test" if evidence.basis == "test" else "training"
        same = compare(evidence.runs, evidence.sampled, source)
    if same is None and log.test is not None:
        same = compare(log.test, None, "test")
    if same is None:
        return compare(log.runs, None, "training"), None
    # A validation of its own has no training runs but its test.
    if same.source == "training" or log.runs is log.test:
        return same, None
    return same, compare(log.runs, "instance", "training")


def _best_set(evidence: Evidence, question: Question) -> dict[str, bool] | None:
    """Which configurations of a list may be the best, from one look."""
    runs = evidence.runs
    if evidence.basis != "list" or not evidence.looked_once:
        return None
    if not math.isfinite(runs.width) or runs.censored.any():
        return None
    means = runs.costs[:, 0]
    if evidence.sampled != "seed":
        means = units_of(known_means(runs.costs), evidence.families)
    means, delta = means[:, : evidence.planned], question.delta * evidence.share
    compared = ~np.isnan(means).any(axis=1)
    if evidence.one_look:
        delta *= PLANNED_LOOK
        if not compared.all():  # it is for all of the list
            return None
    if not 2 <= compared.sum() <= MOST_LISTED:
        return None
    scaled = np.clip((means[compared] - runs.low) / runs.width, 0, 1)
    best = betting.best_set(scaled, delta, rng=question.seed)
    names = np.array(runs.configurations, dtype=object)[compared]
    return dict(zip(names.tolist(), best.tolist(), strict=True))


def _selection(
    log: Log, question: Question, costs: Costs, families: Sequence[str] | None
) -> selection.Selection | None:
    """Over-tuning of a list, by splits of its instances (of a single one, of its runs)."""
    if log.adaptive is True or log.listed == 1 or question.basis == "fixed before":
        return None
    means = costs.means
    if len(log.runs.instances) == 1:
        means, families = log.runs.charged[:, 0], None
    means = means[costs.ranked]
    if len(means) < 2:
        return None
    return selection.selection_error(means, families=families, rng=question.seed)


def _ranking(
    log: Log, evidence: Evidence | Refusal, costs: Costs, best: dict[str, bool] | None
) -> tuple[Ranked, ...]:
    """All configurations with runs, the best in training first."""
    tested: dict[str, float] = {}
    if log.test is not None and log.test is not log.runs:
        runs, families = log.test, None
        if isinstance(evidence, Evidence) and evidence.basis == "test":
            runs, families = runs.select(instances=evidence.runs.instances), evidence.families
        plain = costs_of(runs, families).plain.tolist()
        tested = dict(zip(runs.configurations, plain, strict=True))

    def row(name: str, cost: float = math.nan, runs: int = 0, instances: int = 0) -> Ranked:
        return Ranked(
            configuration=name,
            cost=cost,
            runs=runs,
            instances=instances,
            test_cost=tested.get(name, math.nan),
            maybe_best=None if best is None else best.get(name),
        )

    names, columns = log.runs.configurations, (costs.plain, costs.runs, costs.instances)
    ranked = [place for place in costs.order if costs.runs[place]]
    rows = [row(names[place], *(column[place].item() for column in columns)) for place in ranked]
    trained = {one.configuration for one in rows}
    return (*rows, *(row(name) for name in tested if name not in trained))


def row_of(log: Log, name: str) -> CostMatrix | None:
    """The runs of a configuration, in training if it has some there."""
    for table in (log.runs, log.test):
        if table is None or name not in table.configurations:
            continue
        if table.counts()[table.configurations.index(name)].any():
            return table.select(configurations=name)
    return None


def _caveats(log: Log, costs: Costs, default: str | None) -> list[Caveat]:
    """What qualifies the log, one line each."""
    judged = log.runs if log.test is None else log.test
    bounded, censored = math.isfinite(judged.width), int(log.runs.censored.sum())
    score = "the best possible score − score" if bounded else "−score"
    possible = [
        (log.maximised, "maximised", f"Costs are {score}, so smaller is better."),
        (
            not bounded,
            "range",
            "What a run can cost is not known, so nothing is guaranteed about means. Give --low "
            "and --high, the lowest and highest possible cost, or --cutoff for running times.",
        ),
        (
            log.default is not None and default is None,
            "default",
            f"The default {log.default!r} was not run.",
        ),
        (
            censored > 0,
            "censored",
            f"{counted(censored, 'run')} stopped early at a cap. Means count each as the "
            "worst possible cost.",
        ),
        (
            costs.adjusted,
            "adjusted",
            "Configurations were run on different instances. The ranking allows for how hard these "
            "were; the costs shown are plain means.",
        ),
    ]
    # Importers may have said it in the words of the log.
    codes = {caveat.code for caveat in log.caveats}
    new = (Caveat(code, text) for holds, code, text in possible if holds and code not in codes)
    return [*log.caveats, *new]


def _evidence_caveats(
    log: Log, evidence: Evidence, default: str | None, grade: str
) -> list[Caveat]:
    """What qualifies the evidence."""
    tested = evidence.basis == "test"
    table, plan = (log.test, log.test_plan) if tested else (log.runs, log.plan)
    assert table is not None  # noqa: S101 - the evidence comes from it
    possible = [
        (evidence.condition is not None, "condition", evidence.condition or ""),
        (
            default is not None and default not in evidence.runs.configurations,
            "default-untested",
            "The default was not run on these instances, so the two cannot be compared.",
        ),
    ]
    if plan is None:
        left_out = len(table.instances) - len(evidence.runs.instances)
        possible.append((
            tested and left_out > 0,
            "left-out",
            f"{counted(left_out, 'test instance')} left out: used in training, or not run by both.",
        ))  # fmt: skip
    else:
        kept = table.select(instances=evidence.runs.instances)
        later = set(table.configurations) - set(plan.candidates)
        # A test that stops since it is decided leaves nothing undone.
        stopped = any(caveat.code == "given-up" for caveat in log.caveats)
        open_ = not stopped and grade not in ("better", "worse", "no relevant difference")
        possible += [
            (
                open_ and evidence.units < evidence.planned,
                "unfinished",
                f"Unfinished: {evidence.units} of {counted(evidence.planned, evidence.sampled)} "
                "are run.",
            ),
            (
                # Where seeds are the units, all runs count.
                evidence.sampled != "seed" and bool((kept.counts() > plan.runs).any()),
                "later-runs",
                "Runs added after the first plan improve the estimates; the guarantees use the "
                "planned runs.",
            ),
            (
                not tested and bool(plan.candidates and later),
                "later-configurations",
                f"{counted(len(later), 'configuration')} added after the list was fixed: "
                "estimates, but no guarantees.",
            ),
        ]
    return [Caveat(code, sentence) for holds, code, sentence in possible if holds]
