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
    from truecost.api import audit, compare, import_runs, plan, report, validate
    from truecost.campaigns.configure import configure
    from truecost.campaigns.gather import gather
    from truecost.errors import InputError, TruecostError
    from truecost.examples import load_example
    from truecost.journal.journal import Journal
    from truecost.judge.assessment import Assessment
    from truecost.judge.question import Question
    from truecost.matrix import CostMatrix, Log, Reading
    from truecost.paper.reproduce import reproduce
    from truecost.running.scenario import Scenario
    from truecost.runs import Outcome, Status
    from truecost.show import figures
    from truecost.stats import allocation, betting, bounds, variance

    __version__: str

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
# Where public names live; the rest are functions of `api`.
_HOMES = {
    "Assessment": "judge.assessment",
    "CostMatrix": "matrix",
    "InputError": "errors",
    "Journal": "journal.journal",
    "Log": "matrix",
    "Outcome": "runs",
    "Question": "judge.question",
    "Reading": "matrix",
    "Scenario": "running.scenario",
    "Status": "runs",
    "TruecostError": "errors",
    "allocation": "stats",
    "betting": "stats",
    "bounds": "stats",
    "configure": "campaigns.configure",
    "figures": "show",
    "gather": "campaigns.gather",
    "load_example": "examples",
    "reproduce": "paper.reproduce",
    "variance": "stats",
}


if not TYPE_CHECKING:  # otherwise a misspelt name would pass the type checker

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("truecost")
        if name not in __all__:
            raise AttributeError(f"module 'truecost' has no attribute {name!r}")
        home = import_module(f"truecost.{_HOMES.get(name, 'api')}")
        value = getattr(home, name, None) or import_module(f"{home.__name__}.{name}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
