"""Which runs may speak for a configuration, and with how much of δ: that depends on how it was
chosen.

test
    It has runs on fresh instances, on which nobody chose anything. All of δ; of a search that may
    go on with more budget after a look, the part that `looks.of_look` has for it.
before
    It was fixed before any of these costs was seen. All of δ.
from-list
    It was chosen from a list of m that was fixed before any cost was seen: δ/m, the ones dropped on
    the way included. Against a default that is on the list δ/(m − 1), one share per
    comparison.
weighted-list
    The same, but a random fifth of the instances, which judges nothing, gives each configuration
    its share of δ: more to those that look good there.
on-part
    It has the lowest training cost on a fifth of the instances, drawn at random, and is judged on
    the others. All of δ.
progressive
    The t-th proposal of a search, judged only on instances nobody had used before it was proposed:
    δ_t = 6δ/(π²t²), which adds up to δ over all t.

A union over configurations that were proposed adaptively on the same instances is refused. It looks
like from-list and is not valid: each new configuration may be built to fit the very instances, and
m, the number of those tried, says nothing of the number that might have been.

Where costs decided how many runs a configuration gets (a race), or runs are still being made,
limits must hold at all times: they take the instances in the order of the matrix, from the first,
with the same number of runs r on each, and the part 6/(π²r²) of δ, since one may look after every
round. Where nothing says how it came about that configurations have runs on different instances, or
that runs were stopped early, it is taken for a race, if the order of the matrix is not one by
difficulty, which breaks such limits; nobody having said so, the statement has an if. The same holds
for test runs that were watched while they came in; where R rounds, fixed beforehand, are the most
there can be, round r has 1/r² of δ, over the sum of 1/j² up to R.

A run that was stopped at a cap is censored: it costs the cap at least, and at most what a run can
cost. Upper limits charge it the most, lower ones the least, and a difference the ends that go
against it. When to stop was decided by other runs, so that betting is valid only in the order of
time, on runs that no later instance had a part in: the first one on each instance (δ's part for r =
1). In one look Hoeffding's limit stands in, which never falls when a charge rises and so holds
however the caps came about, in any order.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from truecost.arrays import IntArray
from truecost.errors import InputError, Refusal
from truecost.judge import looks
from truecost.judge.costs import best_of, check_names, first_runs, instance_means
from truecost.judge.question import Chosen, Question, Stream
from truecost.judge.scope import (
    NEW_INSTANCES,
    Scope,
    fresh_instances,
    sampled_assumptions,
    units_of,
)
from truecost.matrix import CostMatrix
from truecost.runs import NO_INSTANCE, RunPlan, Trajectory
from truecost.stats import assumptions as assumed
from truecost.stats.assumptions import RANGE, SEEDS
from truecost.stats.assumptions import UNSORTED as UNSORTED

# Reasons that more than one way of choosing gives.
NO_FOLDS = (
    "folds of one data set share training data, so nothing is guaranteed; results on other data "
    "sets, or of each row of a test set, would allow it"
)
ONE_LOOK_ONLY = (
    "statements about these instances, or with weights, take one look, at a number of runs that "
    "was fixed beforehand"
)
# What to do where uneven runs look like a race and the log does not say whether they come from one.
IF_NOT_RACED = "if the number of runs did not depend on costs, say so (`raced=False`)"
NO_PART = "these instances are all there are: none can be kept to choose by; say how it was chosen"
# The part of the instances that chooses, for on-part: more is left to judge by than with halves,
# and the choice hardly suffers (`python -m bench.shares`).
CHOOSING = 0.2


class Evidence(NamedTuple):
    """What a valid statement about a configuration may use.

    `runs` has only instances that may be used, `share` is the part of delta that is left for one
    configuration, `at_all_times` says that limits must hold at all times, `condition` what nobody
    has said and the statement needs. `rounds` are the most runs on an instance that there could
    be and `planned` the instances that limits were planned for, where that was fixed beforehand.
    Where runs came in a recorded order, `plans` are the plans they belong to, and `extension` says
    with which of them the configuration came in. `weights` are the shares of δ of a whole list,
    where they are not the same. `scope` says what was drawn independently, and
    what statements are about.
    """

    runs: CostMatrix
    configuration: str
    chosen: Chosen
    assumptions: tuple[str, ...]
    configurations: int = 1
    share: float = 1.0
    at_all_times: bool = False
    condition: str | None = None
    rounds: int | None = None
    planned: int | None = None
    plans: tuple[RunPlan, ...] = ()
    extension: int = 0
    weights: tuple[float, ...] = ()
    scope: Scope = NEW_INSTANCES

    def of(self, configuration: str) -> "Evidence":
        """The same for another configuration of the list."""
        if not self.weights:
            return self._replace(configuration=configuration)
        place = self.runs.configurations.index(configuration)
        return self._replace(configuration=configuration, share=self.weights[place])

    def against(self, default: str) -> "Evidence":
        """The same for statements against the default: of a list of m only m − 1 are compared with
        it.
        """
        others, listed = self.configurations - 1, default in self.runs.configurations
        if self.weights and listed and others:
            rest = 1 - self.weights[self.runs.configurations.index(default)]
            return self._replace(share=self.share / rest)
        # With an extension, the default came in with the first plan and not with these.
        if self.chosen != "from-list" or not others or not listed or self.extension:
            return self
        return self._replace(configurations=others, share=1 / others)


def gather_evidence(
    matrix: CostMatrix,
    question: Question,
    trajectory: Trajectory,
    test: CostMatrix | None = None,
    scope: Scope = NEW_INSTANCES,
    tested: Trajectory | None = None,
) -> Evidence | Refusal:
    """The runs a statement may use and the part of delta it has, or why there are none.

    Parameters
    ----------
    matrix
        The runs that were there when it was chosen.
    question, trajectory
        Whom the statement is about, and how it was chosen. Without a name it is the winner, for
        on-part that of the part that chooses.
    test, tested
        Runs on fresh instances, and how they came about, where a log says so; instances that are in
        `matrix` too are passed over.
    scope
        What statements are about.
    """
    if scope.sampled == "fold":
        return Refusal(NO_FOLDS)
    if test is not None and question.chosen in (None, "test"):
        winner = question.configuration or incumbent_of(units_of(matrix, scope), trajectory)
        evidence = _on_test(matrix, test, winner, trajectory, tested, scope)
    else:
        evidence = _in_training(matrix, question, trajectory, scope)
    if isinstance(evidence, Refusal):
        return evidence
    fixed = scope.kind != "independent" and scope.units > 1
    if evidence.at_all_times and (fixed or scope.weights):
        return Refusal(ONE_LOOK_ONLY)
    return evidence


def _in_training(
    matrix: CostMatrix, question: Question, trajectory: Trajectory, scope: Scope
) -> Evidence | Refusal:
    """The same from the runs that it was chosen by."""
    name, chosen, proposed = question.configuration, question.chosen, trajectory.proposed
    if chosen == "test":
        return Refusal("there are no test runs of it")
    tool = trajectory.tool.partition(" ")[0]
    adaptive = f"{tool} tuned on these instances, so they cannot certify its winner"
    advice = "run the winner and the default on new instances"
    if matrix.instances == (NO_INSTANCE,):
        adaptive = f"{tool} chose it by these runs, and there are no instances"
        advice = "run the winner and the default with new seeds"
    if proposed == "adaptively" and chosen in (None, "from-list", "weighted-list", "on-part"):
        return Refusal(f"{adaptive}; {advice}")
    condition = None
    if chosen is None:
        # Instances that are all there are cannot be split into those that choose and those that
        # judge.
        listed = proposed == "beforehand" or scope.about == "these"
        chosen = "from-list" if listed else "on-part"
        if chosen == "on-part" and len(matrix.configurations) == 1 and question.list_size is None:
            chosen = "before"  # nothing to choose: no part has to be set aside for that
        condition = None if proposed == "beforehand" else assumed.NOT_TUNED
    stopped = _at_all_times(matrix, question, trajectory)
    # Where nothing but uneven runs speaks for a race: files that are sorted by size come in no
    # order of time.
    unknown = question.raced is None and trajectory.raced is None and not trajectory.unfinished
    if stopped and condition is None and unknown:
        condition = UNSORTED
    plans = _recorded(trajectory, scope)
    if chosen == "on-part":
        if scope.about == "these":
            return Refusal(NO_PART)
        # A recorded order and plan say what comes next, whatever the costs are.
        raced = stopped and not (plans and not question.raced)
        return _on_part(matrix, name, raced, question.rng(Stream.PART), condition, scope, plans)
    if chosen == "before":
        name = fixed_before(matrix, name)
        if proposed == "adaptively" and name != trajectory.default:
            return Refusal(f"{name!r} was not fixed before these costs were seen: {adaptive}")
    name = name or incumbent_of(units_of(matrix, scope), trajectory)
    if chosen == "weighted-list":
        if not scope.usual or stopped or matrix.censored.any():
            return Refusal(
                "a list is weighted by one look at instances on which all configurations were run"
            )
        return _weighted(matrix, name, question.rng(Stream.PART), scope, plans)
    runs, m, share, extension = matrix, 1, 1.0, 0
    claim = f"{name} was fixed before any of these costs was seen"
    if chosen == "from-list":
        m = len(matrix.configurations)
        if plans:
            extension, m = looks.entered(matrix.configurations.index(name), plans)
        m = max(m, question.list_size or 0)
        share = 1 / m
        claim = f"the list of {m:,} configurations was fixed before any of these costs was seen"
    elif chosen == "progressive":
        assert question.fresh is not None  # noqa: S101 - the question has seen to it
        assert question.proposal is not None  # noqa: S101
        runs, share, plans = (
            matrix.select(instances=question.fresh),
            looks.of_number(question.proposal),
            (),
        )
        runs = runs.select(instances=sorted(runs.instances, key=matrix.instances.index))
        claim = (
            f"no cost on these instances had been seen when {name}, number {question.proposal:,} "
            "of its search, was proposed, and every number is certified once at most"
        )
    more: dict[str, Any] = {"configurations": m, "share": share, "extension": extension}
    return _evidence(runs, name, chosen, claim, scope, plans, stopped, condition=condition, **more)


def _evidence(
    runs: CostMatrix,
    name: str,
    chosen: Chosen,
    claim: str,
    scope: Scope,
    plans: tuple[RunPlan, ...] = (),
    stopped: bool = False,
    **more: Any,
) -> Evidence:
    """The evidence with what it needs to be true, the `claim` of how it was chosen included."""
    capped = (assumed.CAPPED,) if runs.censored.any() else ()
    looked: tuple[str, ...] = (assumed.COUNTS, claim, assumed.ONE_LOOK, assumed.PICKED_SEED)
    if plans or stopped:
        looked = (assumed.IN_PLAN if plans else assumed.IN_ORDER, claim)
    assumptions = (*sampled_assumptions(scope), SEEDS, RANGE, *capped, *looked)
    known: dict[str, Any] = {
        "at_all_times": stopped,
        "plans": plans,
        "scope": scope,
        "assumptions": assumptions,
    }
    return Evidence(runs, name, chosen, **known | more)


def incumbent_of(matrix: CostMatrix, trajectory: Trajectory) -> str:
    """The trajectory's incumbent, else the configuration with the lowest training cost."""
    if trajectory.incumbent is not None and trajectory.incumbent in matrix.configurations:
        return trajectory.incumbent
    return matrix.configurations[best_of(matrix) or 0]


def fixed_before(matrix: CostMatrix, name: str | None) -> str:
    """The configuration that was fixed before; the one with the least cost is chosen by it."""
    if name is None and len(matrix.configurations) == 1:
        return matrix.configurations[0]
    if name is None:
        raise InputError(
            "Expected the name of the `configuration` that was fixed before any cost was seen."
        )
    return name


def _at_all_times(matrix: CostMatrix, question: Question, trajectory: Trajectory) -> bool:
    """Whether the number of runs may have depended on costs, or more are on the way."""
    if trajectory.unfinished:
        return True
    raced = trajectory.raced if question.raced is None else question.raced
    if raced is not None:
        return raced
    counts = matrix.counts()
    counts = counts[counts.any(axis=1)]
    return bool((counts != counts[:1]).any() or matrix.censored.any())


def _on_test(
    matrix: CostMatrix,
    test: CostMatrix,
    name: str,
    trajectory: Trajectory,
    tested: Trajectory | None,
    scope: Scope,
) -> Evidence | Refusal:
    """The same from runs on fresh instances."""
    if (test.low, test.high) != (matrix.low, matrix.high):
        raise InputError(
            f"Expected test runs with costs in [{matrix.low:g}, {matrix.high:g}], as the others "
            f"have them, got [{test.low:g}, {test.high:g}]."
        )
    if test.utility != matrix.utility:
        mine, theirs = (runs.utility or "none" for runs in (matrix, test))
        raise InputError(
            f"Expected test runs with the utility of the others, {mine}, got {theirs}."
        )
    check_names(test, name)
    new = fresh_instances(matrix, test, scope)
    if not new:
        return Refusal(
            f"all {'families' if scope.sampled == 'family' else 'instances'} of the test runs were "
            "used in training too, and statements need fresh ones"
        )
    claim = f"{name} was chosen before any of the test costs was seen"
    runs, share, watched = test.select(instances=new), 1.0, trajectory.watched
    if watched is not None and watched.about == "these":
        due, made = watched.planned * watched.rounds, int(runs.counts().min(axis=0).sum())
        if made < due:
            return Refusal(f"{ONE_LOOK_ONLY}: {due:,} of each are planned, and {made:,} are made")
        return _evidence(runs, name, "test", claim, scope)
    if watched is not None:
        lines = (*sampled_assumptions(scope), SEEDS, RANGE, assumed.WATCHED, claim)
        fixed: dict[str, Any] = {
            "rounds": watched.rounds,
            "planned": watched.planned,
            "assumptions": lines,
        }
        return _evidence(runs, name, "test", claim, scope, stopped=True, **fixed)
    # Test runs that still come in, or may be extended, are looked at as any others are.
    stopped = tested is not None and (tested.unfinished or bool(tested.raced))
    plans = _recorded(tested, scope)
    if used := set(test.instances) - set(new):
        plans = _kept(plans, test, used)
    extension = looks.entered(test.configurations.index(name), plans)[0] if plans else 0
    if trajectory.looks and tested is None:
        # Whoever asks for more budget after a look may stop at the one that pleases.
        share = looks.of_look(trajectory.looks)
        if trajectory.looks > 1:
            claim = (
                f"{name} was chosen without the test costs; this is look {trajectory.looks} at "
                f"them, with {share:.1%} of delta"
            )
    more = {"share": share, "extension": extension}
    return _evidence(runs, name, "test", claim, scope, plans, stopped, **more)


def _recorded(trajectory: Trajectory | None, scope: Scope) -> tuple[RunPlan, ...]:
    """The plans in whose order the sampling units came: instances, or whole families."""
    plans = () if trajectory is None else trajectory.plans
    whole = scope.unit == "family" and all(plan.families for plan in plans)
    return plans if scope.usual or whole else ()


def _kept(plans: Sequence[RunPlan], matrix: CostMatrix, used: set[str]) -> tuple[RunPlan, ...]:
    """The plans of the instances that are not used otherwise, and of families that still have
    some.
    """
    gone = [instance in used for instance in matrix.instances]
    sizes = []
    for plan in plans:
        planned = list(zip(gone, matrix.families or gone, strict=True))[: plan.instances]
        away, left = (
            [label for lost, label in planned if lost is is_lost] for is_lost in (True, False)
        )
        families = max(0, plan.families - len(set(away) - set(left))) if plan.families else 0
        sizes.append(plan._replace(instances=plan.instances - len(away), families=families))
    return tuple(plan for plan in sizes if plan.instances)


def _on_part(
    matrix: CostMatrix,
    name: str | None,
    stopped: bool,
    rng: np.random.Generator,
    condition: str | None,
    scope: Scope,
    plans: tuple[RunPlan, ...],
) -> Evidence | Refusal:
    """A random part of the units chooses; the others judge."""
    apart = "so no part of the instances can choose independently of the others"
    if matrix.censored.any():
        return Refusal(f"runs were stopped at a cap that may depend on other instances, {apart}")
    if stopped:
        return Refusal(
            f"the number of runs may depend on costs, as in a race, {apart}; {IF_NOT_RACED}"
        )
    units = units_of(matrix, scope)
    number = len(units.instances)
    if number < 2:
        return Refusal(
            f"one part of the {scope.plural} chooses and the others judge, which takes at least two"
        )
    order, choosers = rng.permutation(number), units
    size = max(1, round(CHOOSING * number))
    if plans:
        # The part stays the same when the plan is extended, and so does its choice: the first
        # units of the recorded order, with what was announced first.
        first_plan = plans[0]
        planned = first_plan.instances if units is matrix else first_plan.families
        order, size = np.arange(number), max(1, round(CHOOSING * planned))
        listed = matrix.select(configurations=matrix.configurations[: first_plan.configurations])
        begun = min(first_plan.instances, len(matrix.instances))
        choosers = units_of(first_runs(listed, begun, first_plan.runs), scope)
        part = listed.select(instances=_members(matrix, units, order[:size]))
        # Where another unit has runs, none of the part is still to come.
        if number <= size or (part.counts() < first_plan.runs).any():
            return Refusal(f"the part of the {scope.plural} that chooses is not finished yet")
    first, second = np.sort(order[:size]), np.sort(order[size:])
    place = best_of(choosers.select(instances=[units.instances[i] for i in first]))
    if place is None:
        return Refusal("there are no runs on the part of the instances that chooses")
    winner = choosers.configurations[place]
    if name is not None and name != winner:
        check_names(matrix, name)  # a name that is not there is another mistake
        return Refusal(
            f"these runs can certify only the winner on a random fifth of the {scope.plural}, "
            f"which is {winner!r}, not {name!r}"
        )
    runs = matrix.select(instances=_members(matrix, units, second))
    claim = "the configurations were not tuned on these instances"
    left = _kept(plans, matrix, {*matrix.instances} - {*runs.instances})
    return _evidence(runs, winner, "on-part", claim, scope, left, condition=condition)


def _members(matrix: CostMatrix, units: CostMatrix, places: IntArray) -> list[str]:
    """The instances of some sampling units, in the order of the matrix."""
    chosen = {units.instances[place] for place in places}
    owners = matrix.instances if units is matrix else matrix.families or ()
    pairs = zip(matrix.instances, owners, strict=True)
    return [name for name, owner in pairs if owner in chosen]


def _weighted(
    matrix: CostMatrix,
    name: str,
    rng: np.random.Generator,
    scope: Scope,
    plans: tuple[RunPlan, ...],
) -> Evidence | Refusal:
    """A random part of the instances gives every configuration its share of δ; the others judge."""
    from truecost.stats import lists  # here, since it loads compiled kernels

    number, m = len(matrix.instances), len(matrix.configurations)
    if number < 2:
        return Refusal("one part of the instances weighs and the others judge, which takes two")
    size, weighing = max(1, round(CHOOSING * number)), matrix
    if not plans:
        order = rng.permutation(number)
    else:
        # As for on-part: what weighs stays the same when the plan is extended.
        if m > plans[0].configurations:
            return Refusal("configurations were added to the list after it was weighted")
        order, size = np.arange(number), max(1, round(CHOOSING * plans[0].instances))
        weighing = first_runs(matrix, size, plans[0].runs)
        rng = np.random.default_rng(crc32(weighing.costs.tobytes()))
    part, rest = np.sort(order[:size]), np.sort(order[size:])
    means, known = instance_means(weighing)
    weights = lists.shares(np.where(known, means, np.nan)[:, part], rng)
    runs = matrix.select(instances=[matrix.instances[i] for i in rest])
    left = _kept(plans, matrix, {matrix.instances[i] for i in part})
    claim = (
        f"the list of {m:,} configurations was fixed before any of these costs was seen, and a "
        "random fifth of the instances, which judges nothing, gave each its share of delta"
    )
    listed: dict[str, Any] = {"configurations": m, "weights": tuple(weights.tolist())}
    evidence = _evidence(runs, name, "weighted-list", claim, scope, left, **listed)
    return evidence.of(name)
