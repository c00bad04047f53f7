"""Scenario: a target, its space, instances, limits and metric, from one TOML file."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truecost.running.metric import Metric
from truecost.running.tables import AnswerFormat, Limits, Target
from truecost.runs import Instance
from truecost.space.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that defines a run; `read` makes one from a TOML file.

    Parameters
    ----------
    path
        The file; relative paths start at its folder, and so do the target's processes.
    name, seed
        Its name, and the number from which configurations, the order of instances and the seeds of
        runs are drawn.
    instances
        In the order in which they are used: shuffled by the seed, so that the first P are a sample
        of all of them, and adding one moves none of the others. Where they have families, whole
        families are shuffled, and the instances within each.
    families
        Whether instances have families (in `Instance.extras["family"]`).

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
    families: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.parent

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Scenario":
        """Read and check a scenario file."""
        raise NotImplementedError

    def fingerprint(self) -> dict[str, Any]:
        """What must stay the same for runs to belong together; neither the metric nor the list of
        instances, which may grow. Values of the environment are plain: seal them before writing.
        """
        raise NotImplementedError

    def run_seed(self, instance: str, number: int, configuration: str | None = None) -> int:
        """The seed of an instance's run, 1 … 2³¹ − 1, on every machine: the same for every
        configuration, or one for each where the configuration's name is given.
        """
        own = [] if configuration is None else [configuration]
        return 1 + self._hash(f"run {number}", instance, *own) % (2**31 - 1)

    def _hash(self, purpose: str, *names: str) -> int:
        text = json.dumps([self.seed, purpose, *names])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
