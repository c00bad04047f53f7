"""How well a configured algorithm will do on instances it has never seen.

Vocabulary, the same throughout the package:

configuration
    A full parameter setting of the algorithm.
instance
    A problem the algorithm is run on.
seed
    The number that determines the random choices of a run.
run
    One configuration on one instance with one seed.
outcome
    What was observed of a run, before any cost is computed from it.
cost
    What a run costs; lower is better; between `low` and `high`.
cutoff
    The time after which a run is stopped.
allocation
    How many runs each instance gets.
training cost
    The estimate of a configuration's cost from its runs.
true cost
    The expected cost over instances and seeds.
within, across
    The two parts of the variance of a cost: between runs on an instance, and between instances.
estimation error
    True cost − training cost; positive if training looked too good.
uniform error
    The largest estimation error of a set of configurations.
selection error
    The estimation error of the configuration with the lowest training cost.

Public names, in reading order; each is loaded when first used.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost import library, plan, race
    from truecost import smac as smac
    from truecost.campaigns.configure import configure
    from truecost.campaigns.explain import explain
    from truecost.campaigns.gather import gather
    from truecost.campaigns.validate import validate
    from truecost.errors import InputError, RefusedError, TruecostError
    from truecost.examples import load_example
    from truecost.importers.detect import import_runs
    from truecost.journal.journal import Journal
    from truecost.judge.assessment import Assessment
    from truecost.judge.statements import Certificate
    from truecost.matrix import CostMatrix
    from truecost.matrix.imported import Import
    from truecost.paper import exact, fit, resample
    from truecost.race import replay
    from truecost.running.scenario import Scenario
    from truecost.runs import Outcome, Run, Status, Trajectory
    from truecost.show import figures
    from truecost.show.reproducing import reproduce
    from truecost.space.space import Space
    from truecost.stats import (
        allocation,
        approximate,
        bounds,
        confidence,
        estimate,
        forecast,
        quantiles,
        rates,
        ratios,
        synthetic,
        variance,
    )
    from truecost.stats.allocation import Allocation, concentrated, even, scattered
    from truecost.stats.estimate import training_cost
    from truecost.stats.limits import Limit, LimitSequence
    from truecost.stats.sample import Ends
    from truecost.stats.synthetic import runtime_model
    from truecost.stats.utility import Utility
    from truecost.stats.variance import (
        VarianceComponents,
        bootstrap_components,
        variance_components,
    )
    from truecost.verbs import assess, audit, certify, compare, report

    __version__: str

# module -> its public names; then modules that are public themselves, `smac` only by its full name
# since it needs SMAC3.
_NAMES = {
    "errors": "TruecostError InputError RefusedError",
    "runs": "Status Outcome Run Trajectory",
    "matrix": "CostMatrix",
    "stats.allocation": "Allocation even concentrated scattered",
    "stats.variance": "VarianceComponents variance_components bootstrap_components",
    "stats.estimate": "training_cost",
    "stats.sample": "Ends",
    "stats.limits": "Limit LimitSequence",
    "stats.utility": "Utility",
    "stats.synthetic": "runtime_model",
    "judge.assessment": "Assessment",
    "verbs": "assess audit certify import_runs compare report",
    "judge.statements": "Certificate",
    "space.space": "Space",
    "running.scenario": "Scenario",
    "journal.journal": "Journal",
    "campaigns.gather": "gather",
    "examples": "load_example",
    "campaigns.configure": "configure",
    "campaigns.validate": "validate",
    "campaigns.explain": "explain",
    "matrix.imported": "Import",
    "show.reproducing": "reproduce",
}
_MODULES = """
stats.allocation stats.variance stats.estimate stats.bounds stats.confidence stats.rates
stats.quantiles stats.ratios stats.approximate stats.forecast stats.synthetic paper.exact
paper.resample paper.fit plan race race.replay library show.figures smac
"""
_HOMES = {name: (module, name) for module, names in _NAMES.items() for name in names.split()}
_HOMES |= {module.rpartition(".")[2]: (module, "") for module in _MODULES.split()}

# Former names, which warn.
_RENAMED = {"reality": "paper.bounds_observed"}

__all__ = [
    "Allocation",
    "Assessment",
    "Certificate",
    "CostMatrix",
    "Ends",
    "Import",
    "InputError",
    "Journal",
    "Limit",
    "LimitSequence",
    "Outcome",
    "RefusedError",
    "Run",
    "Scenario",
    "Space",
    "Status",
    "Trajectory",
    "TruecostError",
    "Utility",
    "VarianceComponents",
    "allocation",
    "approximate",
    "assess",
    "audit",
    "bootstrap_components",
    "bounds",
    "certify",
    "compare",
    "concentrated",
    "confidence",
    "configure",
    "estimate",
    "even",
    "exact",
    "explain",
    "figures",
    "fit",
    "forecast",
    "gather",
    "import_runs",
    "library",
    "load_example",
    "plan",
    "quantiles",
    "race",
    "rates",
    "ratios",
    "replay",
    "report",
    "reproduce",
    "resample",
    "runtime_model",
    "scattered",
    "synthetic",
    "training_cost",
    "validate",
    "variance",
    "variance_components",
]


if not TYPE_CHECKING:  # else a misspelt name would pass the type checker

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("truecost")
        if name in _RENAMED:
            message = f"truecost.{name} is truecost.{_RENAMED[name]} now"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return import_module(f"truecost.{_RENAMED[name]}")
        if name not in _HOMES:
            raise AttributeError(f"module 'truecost' has no attribute {name!r}")
        home, attribute = _HOMES[name]
        module = import_module(f"truecost.{home}")
        globals()[name] = value = getattr(module, attribute) if attribute else module
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
