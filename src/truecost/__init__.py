"""Is a tuned algorithm really better on instances it has never seen, by how much, and how sure?

Data flows one way:

    scenario → runs → matrix → evidence → statements → verdict → terminal, page, JSON

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
penalty
    What a failed run costs, in cutoffs: 10 for PAR10.
log
    The runs that a tool made, and everything known about them.
winner
    The configuration that is judged: what the tool chose in the end.
default
    The configuration it is compared with.
training cost, true cost
    The mean cost of a configuration's runs, and its expected cost over instances and seeds.
unit
    What was sampled independently: instances, families of instances, or seeds.
basis
    Why runs may be used in a statement: test runs, a configuration fixed before, or a fixed list.
statement
    A quantity with guaranteed limits, and an approximate interval where there is one.
grade, verdict
    How sure it is that the winner is better, from *better* to *worse*; the grade in words.
allocation
    How many runs each instance gets.
within, across
    The variance of a cost between runs on an instance, and between instances.
selection error
    True cost − training cost of the configuration that looks best: over-tuning.
campaign, journal
    `gather`, `configure` or `validate` making runs, and the file that keeps them.

Public names are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.api import (
        audit,
        compare,
        configure,
        gather,
        import_runs,
        plan,
        report,
        reproduce,
        validate,
    )
    from truecost.errors import InputError, TruecostError
    from truecost.examples import load_example
    from truecost.journal.journal import Journal
    from truecost.judge.assessment import Assessment
    from truecost.judge.question import Question
    from truecost.matrix import CostMatrix
    from truecost.matrix.log import Log
    from truecost.matrix.reading import Reading
    from truecost.running.scenario import Scenario
    from truecost.runs import Outcome, Status
    from truecost.show import figures
    from truecost.stats import allocation, betting, bounds, variance

    __version__: str

# Where public names live; a module that is public itself has no name behind it.
_HOMES = {
    **dict.fromkeys(
        (
            "audit",
            "compare",
            "configure",
            "gather",
            "import_runs",
            "plan",
            "report",
            "reproduce",
            "validate",
        ),
        "api",
    ),
    "Assessment": "judge.assessment",
    "CostMatrix": "matrix",
    "InputError": "errors",
    "Journal": "journal.journal",
    "Log": "matrix.log",
    "Outcome": "runs",
    "Question": "judge.question",
    "Reading": "matrix.reading",
    "Scenario": "running.scenario",
    "Status": "runs",
    "TruecostError": "errors",
    "load_example": "examples",
}
_MODULES = {
    "allocation": "stats.allocation",
    "betting": "stats.betting",
    "bounds": "stats.bounds",
    "figures": "show.figures",
    "variance": "stats.variance",
}

__all__ = [
    "Assessment",
    "CostMatrix",
    "InputError",
    "Journal",
    "Log",
    "Outcome",
    "Question",
    "Reading",
    "Scenario",
    "Status",
    "TruecostError",
    "allocation",
    "audit",
    "betting",
    "bounds",
    "compare",
    "configure",
    "figures",
    "gather",
    "import_runs",
    "load_example",
    "plan",
    "report",
    "reproduce",
    "validate",
    "variance",
]


if not TYPE_CHECKING:  # otherwise a misspelt name would pass the type checker

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("truecost")
        if name in _MODULES:
            value = import_module(f"truecost.{_MODULES[name]}")
        elif name in _HOMES:
            value = getattr(import_module(f"truecost.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module 'truecost' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
