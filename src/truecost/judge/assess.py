"""From a log to the verdict."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truecost.errors import InputError, Refusal, counted, did_you_mean
from truecost.judge.assessment import (
    Assessment,
    Earlier,
    Grade,
    Incumbent,
    Ladder,
    Ranked,
    SameInstances,
    Selection,
    Statement,
)
from truecost.judge.costs import Costs, costs_of, known_means, units_of
from truecost.judge.evidence import Evidence, gather_evidence, is_tested
from truecost.judge.likeness import likeness
from truecost.judge.question import Question
from truecost.judge.statements import (
    compare_means,
    comparisons,
    evidence_pair,
    ladder_of,
    mean_statements,
    pair_of,
    penalty_ranges,
    same_instances,
)
from truecost.matrix import Log
from truecost.matrix.pairing import named_once
from truecost.runs import Caveat
from truecost.stats import betting, selection
from truecost.stats.variance import VarianceComponents, variance_components

# The set of the best compares all pairs.
MOST_LISTED = 1_000


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
    question = _as_recorded(log, question or Question())
    sampled = question.sampled or (None if log.plan is None else log.plan.sampled)
    families = log.runs.families if sampled == "family" else None
    costs = costs_of(log.runs, families)
    winner = winner_of(log, question, costs)
    default = _default_of(log)
    rival = default if default != winner else None
    evidence = gather_evidence(log, question, winner, rival)
    caveats, condition = _caveats(log, costs, default), None
    if isinstance(evidence, Evidence):
        caveats += _evidence_caveats(log, evidence, rival)
        found, alike = likeness(evidence, winner, rival, question.seed)
        caveats += [found] if found is not None else []
        condition = evidence.condition or alike
        evidence = replace(evidence, condition=condition)
    statements, same, ladder = _judged(log, question, evidence, winner, rival)
    # A validation of its own has no training runs but its test.
    if same is not None and same.source == "test" and log.runs is not log.test:
        same = _with_training(same, log)
    grade = _grade(statements, same)
    stopped = any(caveat.code == "given-up" for caveat in caveats)
    if stopped or grade in ("better", "worse", "no relevant difference"):
        # A test that stops since it is decided leaves nothing undone.
        caveats = [caveat for caveat in caveats if caveat.code != "unfinished"]
    best = _best_set(evidence, question)
    return Assessment(
        log=log,
        question=question,
        evidence=evidence,
        winner=winner,
        default=default,
        grade=grade,
        green=grade == "better" and condition is None,
        same=same,
        statements=statements,
        ladder=ladder,
        selection=_selection(log, question, evidence, costs, winner, families),
        best_set=None if best is None else tuple(name for name, may in best.items() if may),
        ranking=_ranking(log, costs, best),
        noise=_noise(log, winner),
        caveats=tuple(dict.fromkeys(caveats)),
    )


def _as_recorded(log: Log, question: Question) -> Question:
    """The question with what the plan fixed in advance."""
    winner = question.configuration or log.incumbent or ""
    plan = log.test_plan if is_tested(log, question, winner) else log.plan
    if plan is None:
        return question
    usual = Question()
    changes: dict[str, object] = {}
    if question.delta == usual.delta:
        changes["delta"] = plan.delta
    if plan.primary is not None:
        changes["primary"] = plan.primary
    if question.margin is None:
        changes["margin"] = plan.margin
    return replace(question, **changes)  # type: ignore[arg-type]


def winner_of(log: Log, question: Question, costs: Costs) -> str:
    """The configuration that is judged: as asked, the tool's choice, or the best training cost."""
    tested = () if log.test is None else log.test.configurations
    known = (*log.runs.configurations, *tested)
    if question.configuration is not None:
        if question.configuration not in known:
            raise InputError(
                f"There is no configuration {question.configuration!r} in the runs."
                f"{did_you_mean(question.configuration, known)}"
            )
        return question.configuration
    if log.incumbent is not None and log.incumbent in known:
        return log.incumbent
    others = [name for name in log.runs.configurations if name != log.default]
    if question.basis == "fixed before" and len(others) == 1:
        return others[0]
    return log.runs.configurations[int(costs.order[0])]


def _default_of(log: Log) -> str | None:
    """The default, where it has runs."""
    for table in (log.test, log.runs):
        if table is not None and log.default in table.configurations:
            return log.default
    return None


def _judged(
    log: Log,
    question: Question,
    evidence: Evidence | Refusal,
    winner: str,
    rival: str | None,
) -> tuple[tuple[Statement, ...], SameInstances | None, Ladder | None]:
    """All statements, the block of the same instances, and the ladder."""
    if isinstance(evidence, Refusal):
        return (), _described(log, question, winner, rival), None
    alone = mean_statements(evidence, winner, question.delta, question.seed)
    known = evidence.runs.configurations
    if rival is None or rival not in known:
        return alone, _described(log, question, winner, rival), None
    pair = evidence_pair(evidence, winner, rival, question.delta, question.seed)
    ranges = penalty_ranges(pair)
    difference = compare_means(pair, ranges)
    others = comparisons(pair, question.margin_share)
    wins = next(one for one in others if one.quantity == "wins")
    first = [difference, *others] if question.primary == "mean" else [wins, difference]
    statements = tuple(dict.fromkeys([*first, *others, *alone]))
    ladder = None if ranges is None else ladder_of(pair, ranges, difference)
    return statements, same_instances(pair, difference, wins), ladder


def _with_training(same: SameInstances, log: Log) -> SameInstances:
    """The comparison with the difference in training beside it, where both were run there."""
    pair = (same.winner, same.default)
    if not set(pair) <= set(log.runs.configurations):
        return same
    places = [log.runs.configurations.index(name) for name in pair]
    ours, theirs = known_means(log.runs.charged[places])
    gaps = (ours - theirs)[~np.isnan(ours - theirs)]
    if not gaps.size:
        return same
    return replace(same, training_instances=gaps.size, training_difference=float(gaps.mean()))


def _described(
    log: Log, question: Question, winner: str, rival: str | None
) -> SameInstances | None:
    """Both on the same instances, where nothing can be stated about new ones."""
    if rival is None:
        return None
    for table, source in ((log.test, "test"), (log.runs, "training")):
        if table is None or not {winner, rival} <= set(table.configurations):
            continue
        families = question.sampled == "family" and table.families is not None
        single = len(table.instances) == 1
        sampled = "seed" if single else "family" if families else "instance"
        pair = pair_of(table, winner, rival, sampled, source=source)  # type: ignore[arg-type]
        if pair is not None:
            return same_instances(pair, compare_means(pair, None), None)
    return None


def _grade(statements: Sequence[Statement], same: SameInstances | None) -> Grade:
    """The one judgement, by the primary criterion."""
    if same is None or not statements or statements[0].no_difference is None:
        return "not testable"
    grade = statements[0].grade
    kept = [one.proven > 0 for one in statements if one.quantity == "margin"]
    if grade not in ("better", "worse") and kept and all(kept):
        return "no relevant difference"
    return grade


def _best_set(evidence: Evidence | Refusal, question: Question) -> dict[str, bool] | None:
    """Which configurations of a list may be the best, from one look."""
    if isinstance(evidence, Refusal) or evidence.basis != "list" or evidence.watched:
        return None
    runs = evidence.runs
    if not math.isfinite(runs.width) or runs.censored.any():
        return None
    means = runs.costs[:, 0]
    if evidence.sampled != "seed":
        means = units_of(known_means(runs.costs), evidence.families)
    there = ~np.isnan(means).all(axis=1)
    if not 2 <= there.sum() <= MOST_LISTED:
        return None
    scaled = np.clip((means[there] - runs.low) / runs.width, 0, 1)
    best = betting.best_set(scaled, question.delta * evidence.share, rng=question.seed)
    names = np.array(runs.configurations, dtype=object)[there]
    return dict(zip(names.tolist(), best.tolist(), strict=True))


def _selection(
    log: Log,
    question: Question,
    evidence: Evidence | Refusal,
    costs: Costs,
    winner: str,
    families: Sequence[str] | None,
) -> Selection | None:
    """Over-tuning: of a list by splits, of a search by test runs of its incumbents."""
    found = None
    if log.adaptive is not True and log.listed != 1 and question.basis != "fixed before":
        single = len(log.runs.instances) == 1
        ranked = (log.runs.charged[:, 0] if single else costs.means)[costs.ranked]
        if len(ranked) > 1:
            groups = None if single else families
            found = selection.selection_error(ranked, families=groups, rng=question.seed)
    incumbents, earlier = _incumbents(log, question, evidence, costs, winner)
    if found is None and not incumbents:
        return None
    return Selection(
        error=None if found is None else found.error,
        held_out=None if found is None else found.held_out,
        splits=0 if found is None else found.splits,
        incumbents=incumbents,
        earlier=earlier,
    )


def _incumbents(
    log: Log, question: Question, evidence: Evidence | Refusal, costs: Costs, winner: str
) -> tuple[tuple[Incumbent, ...], Earlier | None]:
    """Training and test cost of the best configurations over time."""
    if not log.steps or isinstance(evidence, Refusal) or evidence.source != "test":
        return (), None
    training = dict(zip(log.runs.configurations, costs.plain.tolist(), strict=True))
    units = units_of(known_means(evidence.runs.charged), evidence.families)
    rows = dict(zip(evidence.runs.configurations, units, strict=True))
    steps = {step.configuration: step.runs for step in log.steps}
    steps[winner] = steps.pop(winner, None)
    incumbents = tuple(
        Incumbent(
            runs=runs,
            configuration=name,
            training=training.get(name, math.nan),
            test=float(known_means(rows[name])) if name in rows else math.nan,
        )
        for name, runs in steps.items()
    )
    tested = [name for name in steps if name in rows and not np.isnan(rows[name]).all()]
    one_look = not evidence.watched and math.isfinite(evidence.runs.width)
    if len(tested) < 2 or tested[-1] != winner or not one_look or evidence.runs.censored.any():
        return incumbents, None
    found = selection.earlier_incumbent(
        [rows[name] for name in tested],
        evidence.runs.low,
        evidence.runs.high,
        question.delta * evidence.share,
        rng=question.seed,
    )
    if found is None:
        return incumbents, None
    return incumbents, Earlier(
        configuration=tested[found.place],
        difference=found.difference,
        lower=found.lower,
        proven=found.proven,
    )


def _ranking(log: Log, costs: Costs, best: dict[str, bool] | None) -> tuple[Ranked, ...]:
    """All configurations with runs, the best in training first."""
    tested: dict[str, float] = {}
    if log.test is not None and log.test is not log.runs:
        means = known_means(known_means(log.test.charged)).tolist()
        tested = dict(zip(log.test.configurations, means, strict=True))

    def row(name: str, cost: float, runs: int, instances: int) -> Ranked:
        return Ranked(
            configuration=name,
            cost=cost,
            runs=runs,
            instances=instances,
            test_cost=tested.get(name, math.nan),
            maybe_best=None if best is None else best.get(name),
        )

    columns = (costs.plain.tolist(), costs.runs.tolist(), costs.instances.tolist())
    rows = [row(log.runs.configurations[place], *(column[place] for column in columns))
            for place in costs.order.tolist() if columns[1][place]]  # fmt: skip
    trained = {each.configuration for each in rows}
    rows += [row(name, math.nan, 0, 0) for name in tested if name not in trained]
    return tuple(rows)


def _noise(log: Log, winner: str) -> VarianceComponents | None:
    """Variance within and across instances of the winner, in training if it has runs there."""
    for table in (log.runs, log.test):
        if table is not None and winner in table.configurations:
            place = table.configurations.index(winner)
            if not np.isnan(table.costs[place]).all():
                return variance_components(table.select(configurations=[winner]))
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
    known = {caveat.code for caveat in log.caveats}
    new = (Caveat(code, text) for holds, code, text in possible if holds and code not in known)
    return [*log.caveats, *new]


def _evidence_caveats(log: Log, evidence: Evidence, default: str | None) -> list[Caveat]:
    """What qualifies the evidence."""
    tested = evidence.source == "test"
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
        possible += [
            (
                evidence.units < evidence.planned,
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
