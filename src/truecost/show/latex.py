"""What a paper needs: a sentence, a table and a BibTeX entry."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


def sentence(assessment: "Assessment") -> str:
    """Return the result in a sentence or two, in LaTeX, with n, basis, method and error."""
    raise NotImplementedError


def table(assessment: "Assessment") -> str:
    """Return the comparison on the same instances as a LaTeX table (booktabs)."""
    raise NotImplementedError


def bibtex() -> str:
    """Return the entries to cite: this software and the paper."""
    raise NotImplementedError
