"""How many instances and runs are needed (SIGNATURES FIRST)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Instances needed to prove a difference, and runs and instances for an error or a budget."""

    def summary(self) -> str:
        """Lines for people."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        raise NotImplementedError


def plan(
    log: Any,
    question: Any = None,
    *,
    error: float | None = None,
    budget: float | None = None,
    instances: int | None = None,
) -> Plan:
    """From a Log (matrix.log) and a Question (judge.question)."""
    raise NotImplementedError
