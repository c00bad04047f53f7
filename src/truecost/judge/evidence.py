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
from typing import Final

import numpy as np

from truecost.arrays import BoolArray
from truecost.errors import InputError, Refusal, counted
from truecost.judge.question import Basis, Question
from truecost.matrix import CostMatrix, Log, Plan
from truecost.matrix.instances import unknown_to
from truecost.matrix.log import Sampled
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
# validate needs a scenario, which nothing writes from a study; a table needs none.
TABLE: Final = (
    "Run the winner and the default on new instances, write these runs as a table, and add it "
    "with --test FILE."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The runs that count, and on which terms."""

    # Configurations that statements may be about, on the instances that count: in the recorded
    # order where there is a plan, and without runs beyond its runs per instance.
    runs: CostMatrix
    basis: Basis
    # δ is divided by the length of the list, discarded candidates included; in a comparison the
    # default is no candidate.
    candidates: int
    rivals: int
    sampled: Sampled
    units: int
    planned: int  # units of the first plan
    watched: bool  # by a plan: limits hold for looks after every unit
    one_look: bool  # most of δ is for one look, at the planned end
    share: float  # of δ
    condition: str | None = None  # what the log does not confirm, in sentences

    @property
    def families(self) -> tuple[str, ...] | None:
        """The family of each instance, where families are the units."""
        return self.runs.families if self.sampled == "family" else None

    @property
    def looked_once(self) -> bool:
        """Whether there is one look, at all units or at those that were planned."""
        return not self.watched or (self.one_look and self.units >= self.planned)


class _UnusableError(Exception):
    """No statement can be made: a reason and a way out."""

    def __init__(self, reason: str, way_out: str = VALIDATE) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason=reason, way_out=way_out)


def gather_evidence(
    log: Log, question: Question, winner: str, default: str | None
) -> Evidence | Refusal:
    """Decide which runs of a log can be used to judge the winner against the default, and why.

    Every instance of the log has one name (`matrix.instances.named_once`).
    """
    try:
        return _gather(log, question, winner, default)
    except _UnusableError as unusable:
        return unusable.refusal


def _gather(log: Log, question: Question, winner: str, default: str | None) -> Evidence:
    tested = is_tested(log, question, winner)
    rows, plan = (log.test, log.test_plan) if tested else (log.runs, log.plan)
    if rows is None:
        raise _UnusableError(
            "The log has no test runs.",
            "Name them with --test FILE. If these runs are the test: --basis fixed-before "
            "--configuration NAME.",
        )
    sampled = unit_of(rows, plan, question)
    _check_origin(log, question, winner, rows, plan, tested=tested)
    # A campaign of truecost took fresh instances, and compared their contents.
    if tested and plan is None:
        rows = _fresh(log, rows, sampled)
    if plan is not None and plan.candidates:
        # Configurations that were added later have estimates only.
        listed = {*plan.candidates, winner, default}
        rows = rows.select(configurations=[name for name in rows.configurations if name in listed])
    pair = [name for name in dict.fromkeys([winner, default]) if name in rows.configurations]
    if winner not in pair:
        raise _UnusableError(f"Configuration {winner} has no runs on these instances.")
    runs, planned = _counting(rows, pair, plan, sampled)
    if censored := int(runs.select(configurations=pair).censored.sum()):
        raise _UnusableError(
            f"{counted(censored, 'run')} of winner and default stopped at a cap below the "
            "cutoff, so the costs are unknown.",
            f"{VALIDATE} It uses no caps.",
        )
    basis: Basis = "test" if tested else "fixed before" if _is_fixed(log, question) else "list"
    candidates, rivals = _divisors(log, question, basis, rows, default)
    conditions = []
    # A stated basis or list of candidates also states that nothing was tuned.
    unsaid = question.basis is None and question.candidates is None
    if log.adaptive is None and unsaid and not tested:
        conditions.append(NOT_TUNED)
    # A plan says which runs come next, whatever they cost.
    if plan is None and _is_uneven(rows, pair, sampled):
        conditions.append(UNEVEN)
    return Evidence(
        runs=runs,
        basis=basis,
        candidates=candidates,
        rivals=rivals,
        sampled=sampled,
        units=count_units(runs, sampled),
        planned=planned,
        watched=plan is not None,
        one_look=plan is not None and not plan.watched,
        share=1.0 if plan is None else plan.share,
        condition=" ".join(conditions) or None,
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
    if single and asked in (None, "seed"):
        return "seed"
    sampled = asked or ("instance" if plan is None else plan.sampled)
    if sampled == "family" and table.families is None:
        raise InputError("The instances have no families. Give --families.")
    return sampled


def count_units(runs: CostMatrix, sampled: Sampled) -> int:
    """How many units these runs have."""
    if sampled == "family":
        return len(set(runs.families or ()))
    return runs.shape[2 if sampled == "seed" else 1]


def _is_fixed(log: Log, question: Question) -> bool:
    """Whether the configuration was fixed before its runs."""
    if question.basis is not None:
        return question.basis == "fixed before"
    if log.adaptive:  # of a tuned log only the default is judged
        return True
    return log.adaptive is False and log.listed == 1 and question.candidates is None


def _check_origin(
    log: Log, question: Question, winner: str, table: CostMatrix, plan: Plan | None, *, tested: bool
) -> None:
    """Refuse runs that helped to choose the winner, and those of no independent units."""
    names = table.instances
    if len(names) > 1 and all(FOLD.search(name) for name in names):
        raise _UnusableError(
            "Folds of one data set share training data, so nothing is guaranteed.",
            "Give results on other data sets, or of each row of a test set.",
        )
    if not tested and log.adaptive and winner != log.default:
        tool = log.tool if log.tool.startswith("truecost") else log.tool.partition(" ")[0]
        if names == (NO_INSTANCE,):
            raise _UnusableError(
                f"{tool} chose this configuration by these runs.",
                "Run the winner and the default again with new seeds.",
            )
        way_out = TABLE if tool == "Optuna" else VALIDATE
        if log.test is not None and winner not in log.test.configurations:
            way_out = f"The test runs have no configuration {winner}. Name it as the log does."
        raise _UnusableError(
            f"{tool} tuned on these instances, so these runs cannot test its winner.", way_out
        )
    if plan is not None and plan.candidates and winner not in (*plan.candidates, log.default):
        raise _UnusableError(
            f"Configuration {winner} was added after the list was fixed: there are estimates of "
            "it, but no guarantees."
        )
    if question.basis == "fixed before" and question.configuration is None:
        others = [name for name in log.runs.configurations if name != log.default]
        # The tool's own choice was made by these runs.
        if len(others) > 1 and log.listed != 1:
            raise InputError(
                "Which configuration was fixed before these runs? Name it with --configuration."
            )


def _fresh(log: Log, test: CostMatrix, sampled: Sampled) -> CostMatrix:
    """The test runs on instances (or families, or seeds) that training has not seen."""
    if sampled == "seed" and test.instances == log.runs.instances:
        return _new_seeds(log.runs, test)
    trained, ran = set(log.runs.families or ()), test.counts().sum(axis=0) > 0
    families = test.families if sampled == "family" else None
    new = set(unknown_to(log.runs.instances, test.instances))
    fresh = [
        name
        for place, name in enumerate(test.instances)
        if name in new and ran[place] and (families is None or families[place] not in trained)
    ]
    if not fresh:
        what = "families" if sampled == "family" else "instances"
        raise _UnusableError(
            f"All {what} of the test runs were used in training, too.",
            "Test on others, or rename test instances that are different files.",
        )
    return test.select(instances=fresh)


def _new_seeds(runs: CostMatrix, test: CostMatrix) -> CostMatrix:
    """The test runs of a single instance whose seeds training has not used."""
    if runs.seeds is None or test.seeds is None:
        raise _UnusableError(
            "Training and test runs are of one instance, and their seeds are unknown.",
            "Give the seeds of all runs.",
        )
    old = np.isin(test.seeds, runs.seeds[runs.seeds != NO_SEED]) | (test.seeds == NO_SEED)
    if (old | np.isnan(test.costs)).all():
        raise _UnusableError(
            "All seeds of the test runs were used in training, too.", "Test with new seeds."
        )
    statuses = None if test.statuses is None else np.where(old, NO_STATUS, test.statuses)
    return test.replace(costs=np.where(old, np.nan, test.costs), statuses=statuses)


def _counting(
    table: CostMatrix, names: Sequence[str], plan: Plan | None, sampled: Sampled
) -> tuple[CostMatrix, int]:
    """The runs that count, and how many units were planned.

    All that these configurations have in common; of a plan the longest prefix of its order whose
    runs are all done.
    """
    if plan is None:
        common = common_runs(table, names, sampled)
        if common is None:
            raise _UnusableError("Winner and default have no instance in common.")
        return common, count_units(common, sampled)
    # Of the first plan: runs that were added later improve estimates only.
    instances, length, planned = list(table.instances), plan.runs, plan.planned
    present = has_runs(table, names)
    if sampled == "seed":
        # Run numbers are the recorded order; all of them count.
        length = int(np.append(present[:, 0].all(axis=0), False).argmin())
        planned = plan.runs
    else:
        whole = present[:, :, : plan.runs].sum(axis=2).min(axis=0) >= plan.runs
        families = table.families if sampled == "family" else None
        instances = _prefix(
            plan.order,
            set(np.array(instances, dtype=object)[whole]),
            dict(zip(instances, families or instances, strict=True)),
        )
    if not (instances and length):
        raise _UnusableError(
            "No planned instance is finished yet.", "Rerun the command that made the journal."
        )
    return table.select(instances=instances, runs=slice(length)), planned


def common_runs(matrix: CostMatrix, names: Sequence[str], sampled: Sampled) -> CostMatrix | None:
    """The instances (of a single one the runs) that all these configurations have; None without
    any.
    """
    present = has_runs(matrix, names)
    if sampled == "seed":
        runs = np.asarray(present[:, 0].all(axis=0))
        return matrix.select(runs=runs) if runs.any() else None
    common = np.asarray(present.any(axis=2).all(axis=0))
    kept = [name for name, keep in zip(matrix.instances, common, strict=True) if keep]
    return matrix.select(instances=kept) if kept else None


def has_runs(matrix: CostMatrix, names: Sequence[str]) -> BoolArray:
    """Which runs these configurations have, (configurations, P, R); some may have none at all."""
    return ~np.isnan(matrix.costs[[matrix.configurations.index(name) for name in names]])


def _prefix(order: Sequence[str], done: set[str], owner: Mapping[str, str]) -> list[str]:
    """The longest prefix of an order whose units are done; `owner` is the unit of an instance."""
    members: dict[str, list[str]] = {}
    for name in order:
        members.setdefault(owner.get(name, name), []).append(name)
    kept: list[str] = []
    for names in members.values():
        if not done.issuperset(names):
            break
        kept += names
    return kept


def _divisors(
    log: Log, question: Question, basis: Basis, rows: CostMatrix, default: str | None
) -> tuple[int, int]:
    """By how much δ is divided, for one configuration and for a comparison with the default."""
    if basis == "fixed before":
        return 1, 1
    plan = log.test_plan if basis == "test" else log.plan
    listed = () if plan is None else plan.candidates
    if basis == "test":
        # A named finalist that the tool did not choose may have been picked by these very runs.
        named = question.configuration not in (None, log.incumbent, default)
        if not listed and (named or plan is not None):
            listed = rows.configurations
        k = max(1, len([name for name in listed if name != default]))
        return k, k
    if not listed:
        made = log.runs.counts().any(axis=1)
        listed = tuple(np.array(log.runs.configurations, dtype=object)[made])
    m = max(len(listed), log.listed or 0, question.candidates or 0, 1)
    return m, max(1, m - (default in listed))


def _is_uneven(table: CostMatrix, names: Sequence[str], sampled: Sampled) -> bool:
    """Whether one of these configurations lacks runs that are in the table elsewhere.

    Those of others do not matter: without a gap in its own runs a configuration would have the same
    limits if nothing were missing at all.
    """
    counts, own = table.counts(), table.select(configurations=names).counts()
    if sampled == "seed":
        return bool((own != own[0]).any())
    own, most = own[:, counts.any(axis=0)], counts.max(axis=0)[counts.any(axis=0)]
    # Nothing is missing of as many runs on each instance, or as many as any configuration has.
    complete = (own == own[:, :1]).all(axis=1) | (own == most).all(axis=1)
    return not complete.all()
