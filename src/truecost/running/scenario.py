"""Scenario: a target, its space, instances, limits and metric, from one TOML file."""

import hashlib
import json
import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field

from truecost.errors import InputError, counted, prefixed
from truecost.running import checks
from truecost.running.files import cause_of, is_file, is_text, read_text
from truecost.running.instances import read_instances
from truecost.running.metric import Metric
from truecost.running.tables import (
    AnswerFormat,
    InstanceTable,
    Limits,
    SpaceTable,
    Target,
    TomlTable,
    first_problem,
)
from truecost.runs import FAMILY, Instance
from truecost.space.arguments import arguments
from truecost.space.space import Space


class _File(TomlTable):
    """The scenario file as it is written."""

    name: str
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    target: Target
    answer: AnswerFormat | None = None
    space: SpaceTable
    instances: InstanceTable
    limits: Limits
    metric: Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that defines a run; `read` makes one from a TOML file.

    Relative paths start at the folder of the file. Instances are in the order in which they are
    used: shuffled by the seed, so that the first P are a sample of all of them, and adding one
    moves none of the others; whole families are shuffled, and the instances within each.

    Examples
    --------
    >>> tc.Scenario.read("scenario.toml").name
    'toy'
    """

    path: Path
    name: str
    seed: int
    target: Target
    answer: AnswerFormat
    space: Space
    space_text: str
    instances: tuple[Instance, ...]
    limits: Limits
    metric: Metric

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.parent

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Scenario":
        """Read and check a scenario file."""
        path = Path(path)
        with prefixed(path):
            try:
                written = tomllib.loads(read_text(path))
                file = _File.model_validate(written)
            except (tomllib.TOMLDecodeError, RecursionError) as error:
                raise InputError(f"This is not valid TOML: {cause_of(error)}.") from error
            except pydantic.ValidationError as error:
                raise InputError(first_problem(error, _File)) from error
            return _from_file(file, path.resolve())

    def fingerprint(self) -> dict[str, Any]:
        """What must stay the same for runs to belong together; neither the metric nor the list of
        instances, which may grow. Values of the environment are plain: seal them before writing.
        """
        return {
            "seed": self.seed,
            "target": self.target.model_dump(mode="json", exclude={"version"}),
            "programs": self._programs(),
            "answer": self.answer.model_dump(mode="json"),
            "space": self.space_text,
            "default": None if self.space.chosen is None else dict(self.space.chosen),
            "limits": self.limits.model_dump(mode="json"),
        }

    def _programs(self) -> dict[str, str]:
        """Hashes of the programs that the scenario names by a path."""
        # A solver that was built anew is another solver.
        target = self.target
        words = [*(target.command or ())]
        words += () if isinstance(target.check, str) else target.check or ()
        words += [reference.rpartition(":")[0] for reference in target.functions().values()]
        hashes = {}
        for word in words:
            path = self.folder / word.replace("{scenario}", str(self.folder))
            # What stands on PATH is the system's: its version is recorded, its updates are not ours
            # to refuse.
            if (os.sep in word or path.parent == self.folder) and is_file(path):
                inside = path.is_relative_to(self.folder)
                name = os.path.relpath(path, self.folder) if inside else str(path)
                try:
                    with path.open("rb") as file:
                        hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()[:16]
                except PermissionError:  # it may be executed all the same
                    hashes[name] = counted(path.stat().st_size, "byte")
        return hashes

    def run_seed(self, instance: str, number: int, configuration: str | None = None) -> int:
        """The seed of an instance's run, 1 … 2³¹ − 1, on every machine: the same for every
        configuration, or one for each where the configuration's name is given.
        """
        named = [] if configuration is None else [configuration]
        return 1 + self._hash(f"run {number}", instance, *named) % (2**31 - 1)

    def _hash(self, purpose: str, *names: str) -> int:
        text = json.dumps([self.seed, purpose, *names])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def place(self, instance: Instance) -> int:
        """A number of the instance that the seed draws."""
        return self._hash("order", instance.name)

    def order(self, instance: Instance) -> tuple[int, int, str]:
        """What instances are sorted by: their families first, so that an unfinished journal has
        whole ones.
        """
        family = instance.extras.get(FAMILY)
        first = 0 if family is None else self._hash("family", family)
        return first, self.place(instance), instance.name


def _from_file(file: _File, path: Path) -> Scenario:
    """Put the parts together and check what concerns more than one."""
    folder = path.parent
    if not file.name.strip() or not file.name.isprintable():
        raise InputError(f"name is {file.name!r:.60}. Give a name in printable letters.")
    if not is_text(str(folder)):
        raise InputError("The name of its folder is not UTF-8. Rename the folder.")
    limits = checks.complete_limits(file.limits)
    metric = checks.complete_metric(file.metric, limits)
    if file.answer is not None and file.target.kind != "command":
        raise InputError(
            f"[answer] is for target.kind = 'command'; {file.target.kind!r} says how output is "
            "read. Remove [answer]."
        )
    answer = file.answer or AnswerFormat()
    space, space_text = _space(file.space, folder)
    instances = read_instances(file.instances, folder)
    scenario = Scenario(
        path=path,
        name=file.name,
        seed=file.seed,
        target=file.target,
        answer=answer,
        space=space,
        space_text=space_text,
        instances=tuple(instances),
        limits=limits,
        metric=metric,
    )
    columns = {column for instance in instances for column in instance.extras}
    checks.check_target(file.target, folder, columns)
    if file.target.style is not None:
        with prefixed("target.style"):
            arguments(space.default(), file.target.style)
    checks.check_answer(answer, metric, file.target)
    return replace(scenario, instances=tuple(sorted(instances, key=scenario.order)))


def _space(table: SpaceTable, folder: Path) -> tuple[Space, str]:
    """The space with the scenario's default, and the text of its file."""
    with prefixed(f"space.file: {folder / table.file}"):
        text = read_text(folder / table.file)
        space = Space.parse(text)
    with prefixed("space.default"):
        if table.default == "middle":
            space = replace(space, chosen=dict(space.default().values))
        elif table.default is not None:
            space = replace(space, chosen=dict(table.default))
        if not space.allows(space.default()):
            raise InputError("This configuration is forbidden. Choose another default.")
    return space, text
