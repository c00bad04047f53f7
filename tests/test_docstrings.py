"""Examples in docstrings print what they show."""

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
import scenarios

import truecost as tc


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring with an example; `tc` is truecost, as the documentation says once."""
    for info in pkgutil.walk_packages(tc.__path__, "truecost."):
        # Programs that scenarios copy, and the supervisor, are scripts.
        if info.name.startswith("truecost.scenarios.") or "._" in info.name:
            continue
        module = importlib.import_module(info.name)
        for example in doctest.DocTestFinder().find(module, info.name, extraglobs={"tc": tc}):
            if example.examples:
                yield example


@pytest.mark.usefixtures("own_locks")
@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_an_example_prints_what_it_shows(example: doctest.DocTest, tmp_path: Path) -> None:
    """A reader who pastes the example from the reference would see something else."""
    folder = tmp_path / "scenario"
    scenarios.write(folder)
    new = folder / "new"
    new.mkdir()
    for place in range(20, 26):
        (new / f"{place}.txt").write_text(f"{place}\n")
    printed: list[str] = []
    with chdir(folder):
        if example.name.endswith("validate.validate"):
            tc.gather("scenario.toml", "runs.db", configurations=3, instances=2, runs=1)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    assert not printed, "".join(printed)
