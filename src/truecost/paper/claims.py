"""What the paper's experiments claim, judged on the results of one matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """Whether a claim holds on the data."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "fails"
    OPEN = "cannot be judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper, the verdict, the finding in words, and the numbers behind it."""

    name: str
    says: str
    verdict: Verdict
    finding: str
    numbers: Mapping[str, Any]
