"""Budgets: how they are written, and what is left of them."""

import pytest

from truecost.campaigns.budget import Budget, Purse, Tally
from truecost.errors import InputError


def test_budgets_are_read() -> None:
    """A budget would be taken for another unit, or a typo for a number."""
    assert Budget.of(200) == Budget.of("200runs") == Budget.of(" 200 ") == Budget.of("2_00run")
    assert Budget.of("1.5h") == Budget(amount=5400, unit="seconds")
    assert [str(Budget.of(text)) for text in ("1run", "5,000runs", "90min", "36h", "45s")] == [
        "1 run", "5,000 runs", "90 min", "36 h", "45 s",
    ]  # fmt: skip
    for wrong in ("", "ten", "2 weeks", "-5", "1.5runs", 0, "0s", float("nan"), float("inf")):
        with pytest.raises(InputError, match="budget"):
            Budget.of(wrong)


def test_a_purse_counts_its_own_runs() -> None:
    """A search would spend what is kept for its test."""
    tally = Tally()
    purse = Purse(
        budget=Budget(amount=100, unit="runs"), tally=tally, workers=2, reserve=lambda: 20.0
    )
    for _ in range(30):
        tally.count(2.0, 1.0)
    assert (purse.left(), purse.spent, purse.share) == (50, 30, 0.3)
    hours = Purse(budget=Budget(amount=100, unit="seconds"), tally=tally, workers=2)
    assert (hours.spent, hours.left()) == (30, 70)
    assert Purse(budget=hours.budget, tally=Tally(), workers=2).left() == float("inf")
