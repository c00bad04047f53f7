"""The report: one HTML file that loads nothing."""

from typing import TYPE_CHECKING

from truecost.show.verdict import NAMES, Names

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


def page(assessment: "Assessment", names: Names = NAMES, *, title: str | None = None) -> str:
    """Return the report as HTML."""
    raise NotImplementedError
