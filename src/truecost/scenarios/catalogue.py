"""The built-in scenarios, their sizes, and how their instances are made."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

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
    """A built-in scenario.

    Attributes
    ----------
    files
        What an exported folder consists of, in this package. `scenario.toml` is a template.
    suffix
        How instances' names end.
    start
        CPU seconds that the launcher needs before the solver starts, where only the solver's own
        time is measured.
    help
        How to get the solver, where no package carries it.
    """

    name: str
    title: str
    solver: str
    licence: str
    files: tuple[str, ...]
    suffix: str
    sizes: Mapping[str, Size]
    start: float = 0.0
    help: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Name, title, solver, licence and sizes, for JSON."""
        words = ("name", "title", "solver", "licence", "help")
        sizes = {
            name: {key: value for key, value in asdict(size).items() if key != "make"}
            for name, size in self.sizes.items()
        }
        return {word: getattr(self, word) for word in words} | {"sizes": sizes}


def _tsp(cities: int, instances: int, cutoff: float) -> Size:
    what, make = f"{cities} cities uniform in a square", partial(tsp.instance, cities)
    return Size(instances=instances, cutoff=cutoff, what=what, kind=f"tsp-{cities}", make=make)


def _sequence(
    leaves: int, largest: int, offsets: tuple[int, ...], instances: int, cutoff: float
) -> Size:
    return Size(
        instances=instances,
        cutoff=cutoff,
        what=f"{leaves} leaves, weights to {largest}, m − optimum out of "
        f"{', '.join(map(str, offsets))}",
        kind=f"sequence-{leaves}",
        make=lambda rng, _name: sequence.instance(leaves, largest, offsets, rng),
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


def _files(folder: str, *programs: str) -> tuple[str, ...]:
    return tuple(
        f"{folder}/{name}" for name in ("scenario.toml", "README.md", "space.pcs", *programs)
    )


def _lkh(cities: int, small: int) -> Builtin:
    return Builtin(
        name=f"lkh-uniform-{cities}",
        title=f"LKH on {cities} cities uniform in a square: "
        "CPU time until a reference length is reached",
        solver="LKH 3.0.12 from the package LKHpy (Python below 3.13)",
        licence="LKH: academic and non-commercial use only; LKHpy: MIT",
        files=_files("lkh", "launch.py"),
        suffix=".tsp",
        sizes=MappingProxyType({"small": _tsp(small, 50, 0.5), "paper": _tsp(cities, 250, 10.0)}),
        # Python and NumPy start before LKH does, and their time is not LKH's.
        start=1.0,
    )


_CLASP = Builtin(
    name="clasp-weighted-sequence",
    title="clasp on weighted sequences: CPU time to an answer",
    solver="clasp from the package clingo, or a clasp on PATH",
    licence="clingo and clasp: MIT",
    files=_files("clasp", "arguments.py", "launch.py", "check.py"),
    suffix=".aspif",
    sizes=MappingProxyType(
        {
            "small": _sequence(6, 20, (-1, 0, 2, 4, 8), 50, 0.5),
            "large": _sequence(5, 8, (-1, 0, 2, 4, 8), 120, 0.03),
            "paper": _sequence(10, 20, (0, 3, 5, 8, 12), 120, 25.0),
        }
    ),
)
_SATENSTEIN = Builtin(
    name="satenstein-qcp",
    title="SATenstein on quasigroup completion: CPU time to a model",
    solver="SATenstein in a UBCSAT binary of your own",
    licence="of the binary's makers; it comes with no package",
    files=(*_files("satenstein", "arguments.py"), "kissat/check.py"),
    suffix=".cnf",
    sizes=MappingProxyType(
        {
            "small": _quasigroup(20, 168, 50, 0.5, balanced=False),
            "paper": _quasigroup(22, 203, 500, 5.0, balanced=False),
        }
    ),
    help="No package carries SATenstein. AClib 2 (https://bitbucket.org/mlindauer/aclib2) has it "
    "as target_algorithms/sat/satenstein/ubcsat, a 32-bit program (Debian: libc6:i386). Give its "
    "path with --target PATH or in TRUECOST_SATENSTEIN.",
)
_KISSAT = Builtin(
    name="kissat-qcp",
    title="kissat on quasigroup completion: CPU time to a model",
    solver="kissat 4.0.4 from the package passagemath-kissat",
    licence="kissat: MIT; passagemath-kissat: GPL 2 or later",
    files=_files("kissat", "launch.py", "check.py"),
    suffix=".cnf",
    sizes=MappingProxyType(
        {
            "small": _quasigroup(29, 348, 50, 0.5),
            "large": _quasigroup(25, 250, 200, 0.1),
            "paper": _quasigroup(33, 462, 500, 5.0),
        }
    ),
)

_ALL = (_lkh(400, 100), _lkh(1000, 120), _CLASP, _SATENSTEIN, _KISSAT)
SCENARIOS = MappingProxyType({builtin.name: builtin for builtin in _ALL})
