import logging
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # SMAC's own, and those of what it imports
    from ConfigSpace import Configuration, ConfigurationSpace
    from smac import (
        AlgorithmConfigurationFacade,
        HyperparameterOptimizationFacade,
        RandomFacade,
        Scenario,
    )
    from smac.acquisition.maximizer import LocalAndSortedRandomSearch
    from smac.runhistory import StatusType, TrialInfo, TrialValue

    from truecost.smac import LOOKOUT, START, AdaptiveIntensifier

pytestmark = pytest.mark.filterwarnings("ignore")
INSTANCES = [f"i{number}" for number in range(12)]


def noisy(config: Any, instance: str, seed: int = 0) -> float:
    """Little depends on the configuration, much on the seed."""
    return float(
        config["x"]
        + 3
        * np.random.default_rng([seed, int(instance[1:]), int(1e6 * config["x"])]).standard_normal()
    )


def clear(config: Any, instance: str, seed: int = 0) -> float:  # noqa: ARG001
    """What instances add is the same for all configurations; seeds add nothing."""
    return float(config["x"] + int(instance[1:]))


def scenario_of(folder: Path, **changed: Any) -> Scenario:
    """A scenario of one parameter and twelve instances."""
    settings: dict[str, Any] = {
        "n_trials": 120,
        "instances": INSTANCES,
        "seed": 4,
        "name": "run",
    } | changed
    return Scenario(
        ConfigurationSpace({"x": (0.0, 1.0)}, seed=1), output_directory=folder, **settings
    )


def random_search(
    scenario: Scenario,
    target: Callable[..., float] | None = None,
    *,
    overwrite: bool = True,
    **arguments: Any,
) -> Any:
    """SMAC with our intensifier and proposals that cost nothing to make."""
    return RandomFacade(
        scenario,
        target,
        intensifier=AdaptiveIntensifier(scenario, **arguments),
        overwrite=overwrite,
        logging_level=logging.ERROR,
    )


def tell_all(smac: Any, target: Callable[..., float], trials: int) -> None:
    """Asks and tells without writing anything: SMAC writes its whole history after every trial."""
    for _ in range(trials):
        info = smac.ask()
        smac.tell(info, TrialValue(cost=target(info.config, info.instance, info.seed)), save=False)


def runs_of(smac: Any, config: Configuration) -> list[tuple[str | None, int]]:
    """The instances and seeds a configuration was run on."""
    return [
        (key.instance, key.seed) for key in smac.runhistory.get_instance_seed_budget_keys(config)
    ]


def check_list(intensifier: AdaptiveIntensifier, instances: int) -> list[Any]:
    """The list, after seeing that all its beginnings are S* and all its seeds are known."""
    keys = intensifier.get_instance_seed_keys_of_interest()
    assert len(keys) == len(set(keys)) == intensifier.runs
    counts: Counter[Any] = Counter()
    for key in keys:
        counts[key.instance] += 1
        least = min(counts.values()) if len(counts) == instances else 0
        assert counts[key.instance] - least <= 1
    seeds = list(dict.fromkeys(key.seed for key in keys))
    assert len(seeds) == -(-len(keys) // instances)
    assert set(seeds) <= set(intensifier._tf_seeds)
    return keys


def test_the_facade_for_algorithm_configuration(tmp_path: Path) -> None:
    """In SMAC's own facade, with its forest, the list would not be S*, shrink, or not be what
    configurations are run on.
    """
    scenario = scenario_of(tmp_path, n_trials=70)
    smac = AlgorithmConfigurationFacade(
        scenario,
        noisy,
        intensifier=AdaptiveIntensifier(scenario),
        model=AlgorithmConfigurationFacade.get_model(scenario, n_trees=3),
        config_selector=AlgorithmConfigurationFacade.get_config_selector(
            scenario, retrain_after=20
        ),
        acquisition_maximizer=LocalAndSortedRandomSearch(
            scenario.configspace, challengers=50, local_search_iterations=1, seed=4
        ),
        overwrite=True,
        logging_level=logging.ERROR,
    )
    incumbent: Any = smac.optimize()
    assert smac.runhistory.finished == 70
    intensifier = smac.intensifier
    assert isinstance(intensifier, AdaptiveIntensifier)
    keys = {(key.instance, key.seed) for key in check_list(intensifier, 12)}
    for config in smac.runhistory.get_configs():
        assert set(runs_of(smac, config)) <= keys
    counts = Counter(instance for instance, _ in runs_of(smac, incumbent))
    assert max(counts.values()) - min(counts[name] for name in INSTANCES) <= 1


def test_ask_and_tell_grows_the_list(tmp_path: Path) -> None:
    """The list would shrink, lose what it began with, not grow where seeds decide, or hand out runs
    that are not on it.
    """
    smac = random_search(scenario_of(tmp_path))
    before: list[Any] = []
    lengths = []
    for _ in range(120):
        info = smac.ask()
        keys = check_list(smac.intensifier, 12)
        assert keys[: len(before)] == before
        assert (info.instance, info.seed) in {(key.instance, key.seed) for key in keys}
        assert info.seed in smac.intensifier._tf_seeds
        smac.tell(info, TrialValue(cost=noisy(info.config, info.instance, info.seed)), save=False)
        before = keys
        lengths.append(len(keys))
    assert lengths[0] == START
    assert lengths[-1] > 12
    # All instances are used, though SMAC's own intensifier is limited to three runs in this facade.
    assert {key.instance for key in before} == set(INSTANCES)
    assert {key.instance for key in smac.runhistory if key.config_id > 1} == set(INSTANCES)


def test_more_runs_where_seeds_decide(tmp_path: Path) -> None:
    """A noisy scenario would get no more runs per configuration than one in which a single run
    tells all.
    """
    runs = []
    for name, target in (("noisy", noisy), ("clear", clear)):
        smac = random_search(scenario_of(tmp_path, name=name, n_trials=200))
        tell_all(smac, target, 200)
        runs.append(len(runs_of(smac, smac.intensifier.get_incumbent())))
        assert runs[-1] <= smac.intensifier.runs
    assert runs[1] == START
    assert runs[0] >= 3 * runs[1]
    # What instances add to all configurations alike is no noise.
    assert smac.intensifier.proposals.within < 0.01 * smac.intensifier.proposals.spread**2


def test_a_small_list_looks_out(tmp_path: Path) -> None:
    """Where few runs seem enough, instances that nobody has looked at would stay so for ever."""
    smac = random_search(scenario_of(tmp_path, n_trials=LOOKOUT * 4), start=2)
    tell_all(smac, clear, LOOKOUT * 4)
    assert 3 <= smac.intensifier.runs <= 4


def test_a_continued_run_has_the_same_list(tmp_path: Path) -> None:
    """A run that was stopped and continued would go on with another list, and its incumbent could
    not be challenged.
    """
    first = random_search(scenario_of(tmp_path), noisy)
    tell_all(first, noisy, 59)
    info = first.ask()
    first.tell(info, TrialValue(cost=noisy(info.config, info.instance, info.seed)))
    second = random_search(scenario_of(tmp_path), noisy, overwrite=False)
    assert second.runhistory.finished == 60
    assert second.intensifier.runs == first.intensifier.runs > START
    assert second.intensifier.proposals == first.intensifier.proposals
    info = second.ask()  # SMAC sets itself up anew with the first question
    assert (
        second.intensifier.get_instance_seed_keys_of_interest()
        == first.intensifier.get_instance_seed_keys_of_interest()
    )
    second.tell(info, TrialValue(cost=noisy(info.config, info.instance, info.seed)))
    # The same news makes the same list, whatever lies between.
    third = random_search(scenario_of(tmp_path), noisy, overwrite=False)
    third.ask()
    for _ in range(40):
        info = second.ask()
        value = TrialValue(cost=noisy(info.config, info.instance, info.seed))
        for smac in (second, third):
            smac.tell(info, value, save=False)
    lists = [check_list(smac.intensifier, 12) for smac in (second, third)]
    assert lists[0] == lists[1]
    assert (
        lists[0][: first.intensifier.runs] == first.intensifier.get_instance_seed_keys_of_interest()
    )


def test_a_continued_run_keeps_the_order_of_its_seeds(tmp_path: Path) -> None:
    """Seeds on the list that no run has had yet would come after those the user brought, and the
    list be another.
    """
    first = random_search(scenario_of(tmp_path), clear, start=24)
    tell_all(first, clear, 3)
    config = first.intensifier.get_incumbent()
    first.tell(TrialInfo(config, instance="i3", seed=77), TrialValue(cost=clear(config, "i3")))
    assert first.intensifier._tf_seeds.index(77) == 2
    second = random_search(scenario_of(tmp_path), clear, start=24, overwrite=False)
    second.ask()
    assert check_list(second.intensifier, 12) == check_list(first.intensifier, 12)


def test_runs_brought_along(tmp_path: Path) -> None:
    """A configuration told with seeds of the user's own would stay incumbent for ever, since nobody
    can run on the same.
    """
    smac = random_search(scenario_of(tmp_path))
    bad = Configuration(smac.scenario.configspace, values={"x": 1.0})
    for instance in INSTANCES:
        smac.tell(
            TrialInfo(bad, instance=instance, seed=12345),
            TrialValue(cost=clear(bad, instance)),
            save=False,
        )
    assert smac.intensifier.get_incumbent() == bad
    tell_all(smac, clear, 60)
    keys = check_list(smac.intensifier, 12)
    assert {(instance, 12345) for instance in INSTANCES} <= {
        (key.instance, key.seed) for key in keys
    }
    assert smac.intensifier.get_incumbent() != bad
    # And in the middle, with a seed that SMAC has never seen.
    incumbent = smac.intensifier.get_incumbent()
    smac.tell(
        TrialInfo(incumbent, instance="i3", seed=77),
        TrialValue(cost=clear(incumbent, "i3")),
        save=False,
    )
    smac.ask()
    assert ("i3", 77) in {(key.instance, key.seed) for key in check_list(smac.intensifier, 12)}


def test_several_asked_at_once(tmp_path: Path) -> None:
    """With several workers, runs that are still going on would count with SMAC's placeholder for
    their cost.
    """
    smac = random_search(scenario_of(tmp_path))
    waiting: list[TrialInfo] = []
    for _ in range(90):
        waiting.append(smac.ask())
        if len(waiting) == 4:
            info = waiting.pop(0)
            smac.tell(info, TrialValue(cost=clear(info.config, str(info.instance))), save=False)
    assert smac.runhistory.running == 3
    assert smac.intensifier.runs == START
    proposals = smac.intensifier.proposals
    assert proposals is None or proposals.spread < 1


def test_crashes_that_cost_infinity(tmp_path: Path) -> None:
    """One crash without a cost of its own would make every component infinite, and the list as long
    as it may be.
    """
    smac = random_search(scenario_of(tmp_path))
    for number in range(80):
        info = smac.ask()
        crashed = info.config["x"] > 0.8 and number > 0
        smac.tell(
            info,
            TrialValue(
                cost=np.inf if crashed else clear(info.config, info.instance),
                status=StatusType.CRASHED if crashed else StatusType.SUCCESS,
            ),
            save=False,
        )
    assert any(np.isinf(value.cost) for value in smac.runhistory.values())
    assert smac.intensifier.proposals is not None
    assert np.isfinite(smac.intensifier.proposals).all()
    assert smac.intensifier.runs <= 12


def test_nothing_but_crashes(tmp_path: Path) -> None:
    """Without a single finite cost the list would end in an error."""
    smac = random_search(scenario_of(tmp_path))
    for _ in range(30):
        smac.tell(smac.ask(), TrialValue(cost=np.inf, status=StatusType.CRASHED), save=False)
    assert smac.intensifier.runs == START
    assert smac.intensifier.proposals is None


def test_all_runs_equal(tmp_path: Path) -> None:
    """Costs that never differ would divide by zero, or call for more runs."""
    smac = random_search(scenario_of(tmp_path))
    tell_all(smac, lambda *_: 1.0, 60)
    assert smac.intensifier.runs == START


@pytest.mark.parametrize(("instances", "named"), [(["only"], "only"), (None, None)])
def test_one_instance_and_none(
    tmp_path: Path, instances: list[str] | None, named: str | None
) -> None:
    """With one instance, or without any, there would be no list of seeds, or none that grows with
    the noise.
    """
    smac = random_search(scenario_of(tmp_path, instances=instances))
    for _ in range(120):
        info = smac.ask()
        assert info.instance == named
        smac.tell(info, TrialValue(cost=noisy(info.config, "i0", info.seed)), save=False)
    keys = check_list(smac.intensifier, 1)
    assert len(keys) > START
    assert smac.intensifier.proposals.across == 0


def test_a_deterministic_target(tmp_path: Path) -> None:
    """A target that knows no seeds would be run twice on an instance, or not on all where they
    differ much.
    """
    smac = random_search(scenario_of(tmp_path, deterministic=True, n_trials=160))
    tell_all(smac, lambda config, instance, _: noisy(config, instance, 1), 160)
    keys = check_list(smac.intensifier, 12)
    assert len(keys) == 12
    assert len({key.seed for key in smac.runhistory}) == 1


def test_validation_runs_every_instance_with_other_seeds(tmp_path: Path) -> None:
    """A validation would repeat the training seeds, or leave instances out."""
    smac = random_search(scenario_of(tmp_path, n_trials=30), clear)
    incumbent = smac.optimize()
    trials = smac.intensifier.get_trials_of_interest(
        incumbent, validate=True, seed=4
    )  # the scenario's seed
    assert {trial.instance for trial in trials} == set(INSTANCES)
    assert not {trial.seed for trial in trials} & set(smac.intensifier._tf_seeds)
    assert trials != smac.intensifier.get_trials_of_interest(incumbent, validate=True, seed=10)
    assert smac.validate(incumbent) == pytest.approx(incumbent["x"] + 5.5)


@pytest.mark.parametrize(
    ("changed", "arguments", "expected"),
    [
        ({"objectives": ["a", "b"]}, {}, "one objective, got 2"),
        ({"min_budget": 1, "max_budget": 9}, {}, "without budgets"),
        ({}, {"most": 3}, "at least the 12 instances, got 3"),
        ({}, {"start": 0}, "a start of at least 1"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, changed: dict[str, Any], arguments: dict[str, Any], expected: str
) -> None:
    """A scenario the list makes no sense for, or a limit that leaves instances out, would be taken
    without a word.
    """
    with pytest.raises(InputError, match=expected):
        AdaptiveIntensifier(scenario_of(tmp_path, **changed), **arguments)


def test_the_other_facades_use_all_instances(tmp_path: Path) -> None:
    """In a facade whose own limit is three runs, our list would be cut to the first three
    instances.
    """
    scenario = scenario_of(tmp_path, n_trials=60)
    smac = HyperparameterOptimizationFacade(
        scenario,
        intensifier=AdaptiveIntensifier(scenario, start=12),
        initial_design=HyperparameterOptimizationFacade.get_initial_design(
            scenario, n_configs=30, max_ratio=1
        ),
        overwrite=True,
        logging_level=logging.ERROR,
    )
    tell_all(smac, clear, 60)
    assert {key.instance for key in smac.runhistory} == set(INSTANCES)


def test_smac_is_needed_for_this_only() -> None:
    """Without SMAC3 the package would not load, or this module fail without saying what to install."""
    code = (
        "import sys; sys.modules['smac'] = None\n"
        "import truecost; truecost.plan.worth.runs_worth; truecost.CostMatrix\n"
        "try:\n    truecost.smac\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'truecost[smac]'" in done.stdout
