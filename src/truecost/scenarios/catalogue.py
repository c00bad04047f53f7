"""The built-in scenarios, their sizes, and how their instances are made."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from truecost.errors import InputError, did_you_mean
from truecost.scenarios import quasigroup, sequence, tsp


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A size of a scenario: how many instances, of which kind, and the cutoff in seconds.

    `kind` begins the names of instances; `make` draws one and writes it as the solver reads it.
    """

    instances: int
    cutoff: float
    what: str
    kind: str
    make: Callable[[np.random.Generator, str], str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin:
    """A built-in scenario: what it consists of, and its sizes.

    `programs` are files beside the `folder`'s scenario, space and README; `suffix` ends the names
    of instances. `start`: CPU seconds before the solver starts, where only its own time is
    measured. `help`: how to get the solver, where no package carries it.
    """

    name: str
    title: str
    folder: str
    programs: tuple[str, ...]
    suffix: str
    sizes: Mapping[str, Size]
    start: float = 0.0
    help: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Name, title and sizes, for JSON."""
        sizes = {name: asdict(size) for name, size in self.sizes.items()}
        for size in sizes.values():
            del size["make"]
        return {"name": self.name, "title": self.title, "sizes": sizes}


def names() -> tuple[str, ...]:
    """The names of the built-in scenarios."""
    return tuple(_SCENARIOS)


def describe(name: str) -> Builtin:
    """What is known of a scenario: its title, and sizes with instances and cutoff."""
    if name not in _SCENARIOS:
        raise InputError(
            f"There is no built-in scenario {name!r:.80}.{did_you_mean(name, _SCENARIOS)} "
            f"Choose one of {', '.join(_SCENARIOS)}."
        )
    return _SCENARIOS[name]


def _tsp(cities: int, instances: int, cutoff: float) -> Size:
    what, make = f"{cities:,} cities uniform in a square", partial(tsp.instance, cities)
    return Size(instances=instances, cutoff=cutoff, what=what, kind=f"tsp-{cities}", make=make)


def _sequence(
    leaves: int, largest: int, offsets: tuple[int, ...], instances: int, cutoff: float
) -> Size:
    return Size(
        instances=instances,
        cutoff=cutoff,
        what=f"{leaves} leaves, weights to {largest}, m − optimum out of "
        f"{', '.join(map(str, offsets)).replace('-', '−')}",
        kind=f"sequence-{leaves}",
        make=partial(sequence.instance, leaves, largest, offsets),
    )


def _quasigroup(
    order: int, holes: int, instances: int, cutoff: float, *, balanced: bool = True
) -> Size:
    return Size(
        instances=instances,
        cutoff=cutoff,
        what=f"order {order} with {holes} {'balanced' if balanced else 'random'} holes",
        kind=f"qcp-{order}-{holes}{'b' if balanced else ''}",
        make=partial(quasigroup.instance, order, holes, balanced),
    )


def _lkh(cities: int, small: int) -> Builtin:
    return Builtin(
        name=f"lkh-uniform-{cities}",
        title=f"LKH on {cities:,} cities uniform in a square: "
        "CPU time until a reference length is reached",
        folder="lkh",
        programs=("launch.py",),
        suffix=".tsp",
        sizes={"small": _tsp(small, 50, 0.5), "paper": _tsp(cities, 250, 10.0)},
        # Python and NumPy start before LKH does, and their time is not LKH's.
        start=1.0,
    )


_SCENARIOS = {
    builtin.name: builtin
    for builtin in (
        _lkh(400, 100),
        _lkh(1000, 120),
        Builtin(
            name="clasp-weighted-sequence",
            title="clasp on weighted sequences: CPU time to an answer",
            folder="clasp",
            programs=("arguments.py", "launch.py", "check.py"),
            suffix=".aspif",
            sizes={
                "small": _sequence(6, 20, (-1, 0, 2, 4, 8), 50, 0.5),
                "large": _sequence(5, 8, (-1, 0, 2, 4, 8), 120, 0.03),
                "paper": _sequence(10, 20, (0, 3, 5, 8, 12), 120, 25.0),
            },
        ),
        Builtin(
            name="satenstein-qcp",
            title="SATenstein on quasigroup completion: CPU time to a model",
            folder="satenstein",
            programs=("arguments.py", "../kissat/check.py"),
            suffix=".cnf",
            sizes={
                "small": _quasigroup(20, 168, 50, 0.5, balanced=False),
                "paper": _quasigroup(22, 203, 500, 5.0, balanced=False),
            },
            help="No package carries SATenstein. AClib 2 (https://bitbucket.org/mlindauer/aclib2) "
            "has it as target_algorithms/sat/satenstein/ubcsat, a 32-bit program (Debian: "
            "libc6:i386). Give its path with --target PATH.",
        ),
        Builtin(
            name="kissat-qcp",
            title="kissat on quasigroup completion: CPU time to a model",
            folder="kissat",
            programs=("launch.py", "check.py"),
            suffix=".cnf",
            sizes={
                "small": _quasigroup(29, 348, 50, 0.5),
                "large": _quasigroup(25, 250, 200, 0.1),
                "paper": _quasigroup(33, 462, 500, 5.0),
            },
        ),
    )
}
