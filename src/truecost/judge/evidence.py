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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from truecost.errors import InputError, Refusal, counted
from truecost.judge.costs import common_runs, runs_there
from truecost.judge.question import Basis, Question
from truecost.matrix import CostMatrix, Log, Plan
from truecost.matrix.log import Sampled
from truecost.matrix.pairing import unknown_to
from truecost.runs import NO_INSTANCE, NO_SEED, NO_STATUS

NOT_TUNED: Final = (
    "The guarantees hold only if the configurations were not tuned on these instances."
)
UNEVEN: Final = (
    "Some runs are missing. The guarantees hold only if that has nothing to do with their costs."
)
# How people call the folds of a cross-validation.
FOLD: Final = re.compile(r"(?:^|[/_\-. ])(?:cv|folds?|splits?|repeats?)[-_ ]?\d+$", re.IGNORECASE)
VALIDATE: Final = "Run the winner and the default on new instances with `truecost validate`."
# validate needs a scenario, which nothing writes from a study; tables need none.
COMPARE: Final = (
    "Run the winner and the default on new instances, write both as tables, and compare them "
    "with `truecost compare`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The runs that count, and on which terms."""

    # Configurations that statements may be about, on the instances that count: in the recorded
    # order where there is a plan, and without runs beyond its runs per instance.
    runs: CostMatrix
    source: Literal["test", "training"]
    basis: Basis
    # δ is divided by the length of the list, discarded candidates included; in a comparison the
    # default is no candidate.
    candidates: int
    rivals: int
    sampled: Sampled
    units: int
    planned: int  # units of the first plan
    watched: bool  # whether somebody may have looked after every unit
    share: float  # of δ
    condition: str | None = None  # an assumption the log does not confirm, as a sentence

    @property
    def families(self) -> tuple[str, ...] | None:
        """The family of each instance, where families are the units."""
        return self.runs.families if self.sampled == "family" else None


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
    refusal = _unusable(log, question, winner, table, plan, tested=tested)
    if refusal is not None:
        return refusal
    rows = _fresh(log, table, sampled) if tested else table
    if isinstance(rows, Refusal):
        return rows
    if plan is not None and plan.candidates:
        # Configurations that were added later have estimates only.
        listed = {*plan.candidates, winner, default}
        rows = rows.select(configurations=[name for name in rows.configurations if name in listed])
    pair = [name for name in dict.fromkeys([winner, default]) if name in rows.configurations]
    if winner not in pair:
        return Refusal(
            reason=f"Configuration {winner} has no runs on these instances.", way_out=VALIDATE
        )
    runs, planned, watched = _counting(rows, pair, plan, sampled)
    if runs is None:
        return _nothing_common(plan)
    if censored := int(runs.select(configurations=pair).censored.sum()):
        return Refusal(
            reason=f"{counted(censored, 'run')} of winner and default stopped at a cap below the "
            "cutoff, so the costs are unknown.",
            way_out=f"{VALIDATE} It uses no caps.",
        )
    if tested:
        candidates = rivals = _finalists(log, question, rows, default, plan)
    else:
        candidates, rivals = _divisors(log, question, default)
    fixed = _is_fixed(log, question)
    compared = rows.select(configurations=pair) if tested or fixed else rows
    return Evidence(
        runs=runs,
        source="test" if tested else "training",
        basis="test" if tested else "fixed before" if fixed else "list",
        candidates=candidates,
        rivals=rivals,
        sampled=sampled,
        units=_count_units(runs, sampled),
        planned=planned,
        watched=watched,
        share=1.0 if plan is None else plan.share,
        condition=_condition(log, question, compared, plan, tested=tested),
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


def _unusable(
    log: Log, question: Question, winner: str, table: CostMatrix, plan: Plan | None, *, tested: bool
) -> Refusal | None:
    """Why these runs cannot be used for this winner."""
    names = table.instances
    if len(names) > 1 and all(FOLD.search(name) for name in names):
        return Refusal(
            reason="Folds of one data set share training data, so nothing is guaranteed.",
            way_out="Give results on other data sets, or of each row of a test set.",
        )
    if not tested and log.adaptive and winner != log.default:
        tool = log.tool.partition(" ")[0] if not log.tool.startswith("truecost") else log.tool
        if names == (NO_INSTANCE,):
            return Refusal(
                reason=f"{tool} chose this configuration by these runs.",
                way_out="Run the winner and the default again with new seeds.",
            )
        return Refusal(
            reason=f"{tool} tuned on these instances, so these runs cannot test its winner.",
            way_out=COMPARE if tool == "Optuna" else VALIDATE,
        )
    if plan is not None and plan.candidates and winner not in (*plan.candidates, log.default):
        return Refusal(
            reason=f"Configuration {winner} was added after the list was fixed: there are "
            "estimates of it, but no guarantees.",
            way_out=VALIDATE,
        )
    if not tested and question.basis == "fixed before" and question.configuration is None:
        others = [name for name in log.runs.configurations if name != log.default]
        # The tool's own choice was made by these runs.
        if len(others) > 1 and log.listed != 1:
            raise InputError(
                "Which configuration was fixed before these runs? Name it with --configuration."
            )
    return None


def _fresh(log: Log, test: CostMatrix, sampled: Sampled) -> CostMatrix | Refusal:
    """The test runs on instances (or families, or seeds) that training has not seen."""
    if log.test_plan is not None:
        # A campaign of truecost took fresh ones, told apart by content where names are alike.
        return test
    if sampled == "seed" and test.instances == log.runs.instances:
        return _new_seeds(log.runs, test)
    new = unknown_to(log.runs.instances, test.instances)
    if sampled == "family" and test.families is not None:
        known = set(log.runs.families or ())
        owner = dict(zip(test.instances, test.families, strict=True))
        new = [instance for instance in new if owner[instance] not in known]
    ran = {test.instances[place] for place in np.flatnonzero(test.counts().any(axis=0))}
    new = [instance for instance in new if instance in ran]
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
    statuses = None if test.statuses is None else np.where(old, NO_STATUS, test.statuses)
    return test.replace(costs=np.where(old, np.nan, test.costs), statuses=statuses)


def _counting(
    table: CostMatrix, names: Sequence[str], plan: Plan | None, sampled: Sampled
) -> tuple[CostMatrix | None, int, bool]:
    """The runs that count, how many units were planned, and whether each may have been looked at.

    All that these configurations have in common; of a plan the longest prefix of its order whose
    runs are all done.
    """
    if plan is None:
        runs = common_runs(table, names, sampled)
        return runs, 0 if runs is None else _count_units(runs, sampled), False
    there = runs_there(table, names)
    if sampled == "seed":
        # Run numbers are the recorded order.
        length = int(np.append(there[:, 0].all(axis=0), False).argmin())
        runs, planned = table.select(runs=slice(length)) if length else None, plan.runs
    else:
        # Of the first plan: runs that were added later improve estimates only.
        whole = there[:, :, : plan.runs].sum(axis=2).min(axis=0) >= plan.runs
        done = {name for name, known in zip(table.instances, whole, strict=True) if known}
        families = table.families if sampled == "family" else None
        kept = _prefix(plan.order, done, dict(zip(table.instances, families or (), strict=False)))
        runs = table.select(instances=kept, runs=slice(plan.runs)) if kept else None
        planned = plan.planned
    units = 0 if runs is None else _count_units(runs, sampled)
    return runs, planned, plan.watched or units != planned


def _prefix(order: Sequence[str], done: set[str], owner: Mapping[str, str]) -> list[str]:
    """The longest prefix of instances that are done, and of whole families where these have an
    owner.
    """
    members: dict[str, list[str]] = {}
    for name in order:
        members.setdefault(owner.get(name, name), []).append(name)
    kept: list[str] = []
    for names in members.values():
        if not done.issuperset(names):
            break
        kept += names
    return kept


def _count_units(runs: CostMatrix, sampled: Sampled) -> int:
    if sampled == "family":
        return len(set(runs.families or ()))
    return runs.shape[2 if sampled == "seed" else 1]


def _nothing_common(plan: Plan | None) -> Refusal:
    if plan is not None:
        return Refusal(
            reason="No planned instance is finished yet.",
            way_out="Rerun the command that made the journal.",
        )
    return Refusal(reason="Winner and default have no instance in common.", way_out=VALIDATE)


def _finalists(
    log: Log, question: Question, test: CostMatrix, default: str | None, plan: Plan | None
) -> int:
    """How many finalists share δ: those of the plan; those that were tested, where one of them is
    asked for that the tool did not choose.
    """
    finalists = plan.candidates if plan is not None else ()
    named = question.configuration not in (None, log.incumbent, default)
    if not finalists and (named or plan is not None):
        finalists = test.configurations
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


def _condition(
    log: Log, question: Question, compared: CostMatrix, plan: Plan | None, *, tested: bool
) -> str | None:
    """What the log does not confirm."""
    if question.basis is not None or question.candidates is not None:
        return None
    if log.adaptive is None and not tested:
        return NOT_TUNED
    counts = compared.counts()
    counts = counts[counts.any(axis=1)]
    # A plan says which runs come next, whatever they cost.
    return UNEVEN if plan is None and bool((counts != counts[:1]).any()) else None
