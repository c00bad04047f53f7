"""What a journal is begun with: its scenario, what is to be run, and what must not change."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pydantic

from truecost.errors import InputError
from truecost.runs import Instance
from truecost.space.space import Configuration


class Described(Protocol):
    """What a journal keeps of a scenario: its name, and what must stay the same for runs to belong
    together.
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """What must stay the same."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDesign:
    """What is to be run: every configuration on every instance `runs` times, in S* order.

    Round by round, instance by instance, all configurations: any prefix of that order gives each
    configuration an even allocation, and all configurations the same one but for the run that is
    next.
    """

    configurations: tuple[Configuration, ...]
    instances: tuple[Instance, ...]
    runs: int

    @property
    def size(self) -> int:
        """The number of runs in all."""
        return len(self.configurations) * len(self.instances) * self.runs


def digest_of(instance: Instance) -> str:
    """What tells whether an instance is still what it was."""
    try:
        return instance.digest()
    except OSError as error:
        raise InputError(f"instance {instance.name!r}: {error.strerror or error}.") from error


Stored = TypeVar("Stored")


def stored(path: Path, text: str, kind: type[Stored], what: str) -> Stored:
    """What was kept as JSON; keys of a newer truecost are passed over, and those that an older one
    did not write have their defaults.
    """
    try:
        return pydantic.TypeAdapter(kind).validate_json(text)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(map(str, problem["loc"]))
        raise InputError(
            f"{path}: expected {what}, and they cannot be read ({key}: {problem['msg']})."
        ) from error


def refuse_changes(path: Path, begun: str, given: Iterable[tuple[str, Any, Any]], why: str) -> None:
    """Refuse what differs from what was begun in a journal: (what, now, before), None for what was
    not asked for.
    """
    for what, now, before in given:
        if now is not None and now != before:
            raise InputError(
                f"{path}: expected what the {begun} was begun with, {what} {before}, got "
                f"{now}: {why}. Leave it as it was, or begin another `journal`."
            )
