"""Which runs count for statements about new instances, and why.

test
    Runs on fresh instances, on which nobody chose anything: all of δ; δ/k for k finalists that were
    fixed first.
fixed before
    The configuration was fixed before any of these costs was seen: all of δ.
list
    It is the best of a list of m that was fixed before: δ/m, discarded candidates included, and
    δ/(m − 1) against a default that is on the list. Where nothing says how the configurations came
    about, the same with the condition "if not tuned on these instances".

A union over configurations that were proposed from the costs of others on the same instances is no
valid statement, whatever their number: each may be built to fit these very instances. Such logs are
refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from truecost.errors import InputError, Refusal, counted
from truecost.judge.question import Basis, Question
from truecost.matrix import CostMatrix, Log, Plan
from truecost.matrix.log import Sampled
from truecost.matrix.pairing import unknown_to
from truecost.runs import NO_INSTANCE, NO_SEED

NOT_TUNED: Final = (
    "The guarantees hold only if the configurations were not tuned on these instances."
)
UNEVEN: Final = "The guarantees hold only if missing runs have nothing to do with costs."
# How people call the folds of a cross-validation.
FOLD: Final = re.compile(r"(?:^|[/_\-. ])(?:cv|folds?|splits?|repeats?)[-_ ]?\d+$", re.IGNORECASE)
VALIDATE: Final = "Run the winner and the default on new instances with `truecost validate`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The runs that count, and on which terms.

    Attributes
    ----------
    runs
        All configurations that statements may be about, on the instances that count: in the
        recorded order where there is a plan, else as in the log. Runs beyond the first plan's runs
        per instance are left out.
    source
        Whether these are test runs or training runs.
    basis
        Why they may be used: fresh instances, a configuration fixed before, or a fixed list.
    candidates
        By how much δ is divided for a statement about one configuration: the length of the list,
        discarded candidates included.
    rivals
        By how much δ is divided for a comparison with the default: the same, less the default where
        it is on the list.
    sampled
        The unit: what was sampled independently.
    units
        How many units winner and default have in common.
    planned
        How many units the first plan had.
    watched
        Whether somebody may have looked after every unit.
    share
        The share of δ that these runs may use.
    condition
        An assumption that the log does not confirm, as a sentence; None: unconditional.
    """

    runs: CostMatrix
    source: Literal["test", "training"]
    basis: Basis
    candidates: int
    rivals: int
    sampled: Sampled
    units: int
    planned: int
    watched: bool
    share: float
    condition: str | None = None

    @property
    def families(self) -> tuple[str, ...] | None:
        """The family of each instance, where families are the units."""
        return self.runs.families if self.sampled == "family" else None


class _Part(NamedTuple):
    """The instances (or runs of one instance) that count, and how they were looked at."""

    runs: CostMatrix
    units: int
    planned: int
    watched: bool


def gather_evidence(
    log: Log, question: Question, winner: str, default: str | None
) -> Evidence | Refusal:
    """Decide which runs of a log can be used to judge the winner, and why.

    Parameters
    ----------
    log
        With every instance under one name (`matrix.pairing.named_once`).
    question
        What is asked.
    winner, default
        Whom statements are about.
    """
    tested = is_tested(log, question, winner)
    table, plan = (log.test, log.test_plan) if tested else (log.runs, log.plan)
    if table is None:
        return Refusal(reason="There are no runs on fresh instances.", way_out=VALIDATE)
    sampled = unit_of(table, plan, question)
    names = table.instances
    if len(names) > 1 and all(FOLD.search(name) for name in names):
        return Refusal(
            reason="Folds of one data set share training data, so nothing is guaranteed.",
            way_out="Give results on other data sets, or of each row of a test set.",
        )
    refusal = None if tested else _unusable(log, question, winner)
    if refusal is not None:
        return refusal
    fresh = _fresh(log, sampled) if tested else table
    if isinstance(fresh, Refusal):
        return fresh
    if plan is not None and plan.candidates:
        # Configurations that were added later have estimates only.
        listed = {*plan.candidates, default}
        fresh = fresh.select(
            configurations=[name for name in fresh.configurations if name in listed | {winner}]
        )
    pair = [name for name in dict.fromkeys([winner, default]) if name in fresh.configurations]
    if winner not in pair:
        return Refusal(reason=f"Configuration {winner} has no runs there.", way_out=VALIDATE)
    part = _part(fresh, pair, plan, sampled)
    if not part.units:
        return _nothing_common(plan)
    if censored := int(part.runs.select(configurations=pair).censored.sum()):
        return Refusal(
            reason=f"{counted(censored, 'run')} of the two stopped at a cap below the cutoff, so "
            "the costs are unknown.",
            way_out=f"{VALIDATE} It uses no caps.",
        )
    if tested:
        candidates = rivals = _finalists(log, question, fresh, default, plan)
    else:
        candidates, rivals = _divisors(log, question, default)
    return Evidence(
        runs=part.runs,
        source="test" if tested else "training",
        basis="test" if tested else "fixed before" if _is_fixed(log, question) else "list",
        candidates=candidates,
        rivals=rivals,
        sampled=sampled,
        units=part.units,
        planned=part.planned,
        watched=part.watched,
        share=1.0 if plan is None else plan.share,
        condition=None if tested else _condition(log, question, part.runs),
    )


def is_tested(log: Log, question: Question, winner: str) -> bool:
    """Whether test runs decide: where the winner has some, unless the question says otherwise."""
    if question.basis is not None or question.candidates is not None:
        return question.basis == "test"
    return log.test is not None and (
        winner in log.test.configurations or winner not in log.runs.configurations
    )


def unit_of(table: CostMatrix, plan: Plan | None, question: Question) -> Sampled:
    """The unit: as asked, as recorded, or seeds where there is a single instance."""
    asked, single = question.sampled, len(table.instances) == 1
    if plan is not None and asked is not None and asked != plan.sampled and not single:
        raise InputError(
            f"The units of this journal are fixed as {plan.sampled}. Leave out --sampled."
        )
    if asked == "seed" and not single:
        raise InputError(
            f"Seeds are units for a single instance only; there are {len(table.instances)}. Leave "
            "out --sampled, or read the runs of one instance."
        )
    sampled = asked or (plan.sampled if plan is not None else None)
    if single and (asked in (None, "seed")):
        return "seed"
    if sampled == "family" and table.families is None:
        raise InputError("The instances have no families. Give --families.")
    return sampled or "instance"


def _is_fixed(log: Log, question: Question) -> bool:
    """Whether the configuration was fixed before its runs."""
    if question.basis is not None:
        return question.basis == "fixed before"
    return log.adaptive is False and log.listed == 1 and question.candidates is None


def _unusable(log: Log, question: Question, winner: str) -> Refusal | None:
    """Why training runs cannot be used for this winner."""
    if log.adaptive and winner != log.default:
        tool = log.tool.partition(" ")[0] if not log.tool.startswith("truecost") else log.tool
        if log.runs.instances == (NO_INSTANCE,):
            return Refusal(
                reason=f"{tool} chose this configuration by these runs.",
                way_out="Run the winner and the default again with new seeds.",
            )
        return Refusal(
            reason=f"{tool} tuned on these instances, so their runs cannot be used to test its "
            "winner.",
            way_out=VALIDATE,
        )
    if log.plan is not None and log.plan.candidates and winner not in log.plan.candidates:
        return Refusal(
            reason=f"Configuration {winner} was added after the list was fixed, so there are "
            "estimates of it, and no guarantees.",
            way_out=VALIDATE,
        )
    if question.basis == "fixed before" and question.configuration is None:
        others = [name for name in log.runs.configurations if name != log.default]
        # The tool's own choice was made by these runs.
        if len(others) > 1 and log.listed != 1:
            raise InputError(
                "Which configuration was fixed before these runs? Name it with --configuration."
            )
    return None


def _fresh(log: Log, sampled: Sampled) -> CostMatrix | Refusal:
    """The test runs on instances (or families, or seeds) that training has not seen."""
    test = log.test
    assert test is not None  # noqa: S101 - the caller has looked
    # A validation without a log: nothing was trained on.
    if log.runs is test and log.test_plan is not None:
        return test
    if sampled == "seed" and test.instances == log.runs.instances:
        return _new_seeds(log.runs, test)
    new = unknown_to(log.runs.instances, test.instances)
    if sampled == "family" and test.families is not None:
        known = set(log.runs.families or ())
        owner = dict(zip(test.instances, test.families, strict=True))
        new = [instance for instance in new if owner[instance] not in known]
    if not new:
        what = "families" if sampled == "family" else "instances"
        return Refusal(
            reason=f"All {what} of the test runs were used in training, too.",
            way_out="Test on others, or rename test instances that are different files.",
        )
    return test.select(instances=new)


def _new_seeds(runs: CostMatrix, test: CostMatrix) -> CostMatrix | Refusal:
    """The test runs of a single instance whose seeds training has not used."""
    if runs.seeds is None or test.seeds is None:
        return Refusal(
            reason="Training and test runs are of one instance, and their seeds are unknown.",
            way_out="Give the seeds of all runs.",
        )
    old = np.isin(test.seeds, runs.seeds[runs.seeds != NO_SEED]) | (test.seeds == NO_SEED)
    if (old | np.isnan(test.costs)).all():
        return Refusal(
            reason="All seeds of the test runs were used in training, too.",
            way_out="Test with new seeds.",
        )
    statuses = None if test.statuses is None else np.where(old, -1, test.statuses)
    return test.replace(costs=np.where(old, np.nan, test.costs), statuses=statuses)


def _part(table: CostMatrix, names: Sequence[str], plan: Plan | None, sampled: Sampled) -> _Part:
    """The units that count: all that these configurations have in common, or of a plan the longest
    prefix of its order whose runs are all done.
    """
    if sampled == "seed":
        return _seeds(table, names, plan)
    there = table.select(configurations=names).counts()
    if plan is None:
        both = np.asarray((there > 0).all(axis=0))
        kept = [name for name, known in zip(table.instances, both, strict=True) if known]
        planned, watched = 0, False
    else:
        done = {
            name
            for name, runs in zip(table.instances, there.min(axis=0), strict=True)
            if runs >= plan.runs
        }
        owner = None
        if sampled == "family" and table.families is not None:
            owner = dict(zip(table.instances, table.families, strict=True))
        kept = _prefix(plan.order, done, owner)
        planned, watched = plan.planned, plan.watched
    if not kept:
        return _Part(table, 0, planned, watched)
    runs = table.select(instances=kept)
    if plan is not None and runs.shape[2] > plan.runs:
        runs = _first_runs(runs, plan.runs)
    units = len(kept) if sampled == "instance" else len(set(runs.families or ()))
    planned = planned or units
    return _Part(runs, units, planned, watched or (plan is not None and units != planned))


def _prefix(order: Sequence[str], done: set[str], owner: dict[str, str] | None) -> list[str]:
    """The longest prefix of instances that are done; of whole families where these are units."""
    if owner is None:
        kept = []
        for name in order:
            if name not in done:
                break
            kept.append(name)
        return kept
    members: dict[str, list[str]] = {}
    for name in order:
        members.setdefault(owner.get(name, ""), []).append(name)
    kept = []
    for names in members.values():
        if not done.issuperset(names):
            break
        kept += names
    return kept


def _seeds(table: CostMatrix, names: Sequence[str], plan: Plan | None) -> _Part:
    """Of a single instance the runs that all these configurations have."""
    costs = table.select(configurations=names).costs[:, 0]
    both = ~np.isnan(costs).any(axis=0)
    watched, planned = False, int(both.sum())
    if plan is not None:
        # Run numbers are the recorded order.
        missing = np.flatnonzero(~both)
        length = int(missing[0]) if missing.size else both.size
        both = np.arange(both.size) < length
        planned = plan.runs
        watched = plan.watched or length != planned
    units = int(both.sum())
    if not units:
        return _Part(table, 0, planned, watched)

    def cut(values: "np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None") -> object:
        return None if values is None else values[:, :, both]

    runs = table.replace(
        costs=cut(table.costs), statuses=cut(table.statuses), seeds=cut(table.seeds)
    )
    return _Part(runs, units, max(planned, 1), watched)


def _first_runs(runs: CostMatrix, number: int) -> CostMatrix:
    """The first runs on each instance."""
    return runs.replace(
        costs=runs.costs[:, :, :number],
        statuses=None if runs.statuses is None else runs.statuses[:, :, :number],
        seeds=None if runs.seeds is None else runs.seeds[:, :, :number],
    )


def _nothing_common(plan: Plan | None) -> Refusal:
    if plan is not None:
        return Refusal(
            reason="No unit of the plan is finished yet.", way_out="Continue the journal."
        )
    return Refusal(reason="Winner and default were run on no common instance.", way_out=VALIDATE)


def _finalists(
    log: Log, question: Question, test: CostMatrix, default: str | None, plan: Plan | None
) -> int:
    """How many finalists share δ: those of the plan; those that were tested, where one of them is
    asked for that the tool did not choose.
    """
    named = question.configuration not in (None, log.incumbent, default)
    finalists = plan.candidates if plan is not None else test.configurations if named else ()
    return max(1, len([name for name in finalists if name != default]))


def _divisors(log: Log, question: Question, default: str | None) -> tuple[int, int]:
    """By how much δ is divided, for one configuration and for a comparison with the default."""
    if _is_fixed(log, question):
        return 1, 1
    listed = log.plan.candidates if log.plan is not None else ()
    if not listed:
        made = log.runs.counts().sum(axis=1)
        names = zip(log.runs.configurations, made, strict=True)
        listed = tuple(name for name, runs in names if runs)
    m = max(len(listed), log.listed or 0, question.candidates or 0, 1)
    return m, max(1, m - (default in listed))


def _condition(log: Log, question: Question, runs: CostMatrix) -> str | None:
    """What the log does not confirm."""
    vouched = question.basis is not None or question.candidates is not None
    if log.adaptive is None and not vouched:
        return NOT_TUNED
    counts = runs.counts()
    counts = counts[counts.any(axis=1)]
    # A plan says which runs come next, whatever they cost.
    if log.plan is None and not vouched and bool((counts != counts[:1]).any()):
        return UNEVEN
    return None
