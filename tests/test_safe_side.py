"""What is written is never stronger than what was shown."""

import re

import numpy as np
import pytest

from truecost import CostMatrix, Status, assess
from truecost.show.document import Case, Context, audited
from truecost.show.document.verdict import verdict_of


def drawn(seed: int, gain: float) -> CostMatrix:
    """Thirty instances with a default `d` and `w`, which costs less by `gain`."""
    rng = np.random.default_rng(seed)
    costs = np.stack([rng.uniform(40, 60, (30, 2)), rng.uniform(40, 60, (30, 2)) - gain])
    return CostMatrix(costs, ["d", "w"], [f"i{place}" for place in range(30)], 0, 100)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("gain", [31.0, -29.0])
def test_a_verdict_is_rounded_to_the_safe_side(seed: int, gain: float) -> None:
    """The verdict would claim a larger difference than the limit that was shown."""
    assessment = assess(drawn(seed, gain), configuration="w", default="d", chosen="before")
    comparison = assessment.comparison
    assert comparison is not None
    assert comparison.upper is not None
    assert comparison.lower is not None
    shown = -comparison.upper if gain > 0 else comparison.lower
    sentence = verdict_of(Case(assessment, Context()))
    assert ("better" if gain > 0 else "worse") in sentence
    claimed = re.search(r"at least ([\d.]+)", sentence)
    assert claimed is not None, sentence
    assert shown - 0.1 <= float(claimed[1]) < shown


@pytest.mark.parametrize("seed", range(8))
def test_a_range_is_rounded_to_the_safe_side(seed: int) -> None:
    """What the difference may be would be written as a narrower range than was shown."""
    assessment = assess(drawn(seed, 0.0), configuration="w", default="d", chosen="before")
    comparison = assessment.comparison
    assert comparison is not None
    assert comparison.upper is not None
    assert comparison.lower is not None
    facts = {fact.term: fact for fact in audited(assessment, Context()).key}
    low, high = (
        float(text.replace("−", "-"))
        for text in re.findall(r"([−+\d.]+) to ([−+\d.]+)", facts["difference"].note)[0]
    )
    assert low < comparison.lower < comparison.upper < high


def test_a_race_with_capped_runs_counts_one_round() -> None:
    """Runs of a second round would count although costs on later instances may have set their cap."""
    rng = np.random.default_rng(2)
    costs = rng.uniform(0, 5, (1, 20, 2))
    statuses = np.zeros(costs.shape, dtype=np.int64)
    statuses[0, 3, 1] = Status.CENSORED
    names = (["w"], [f"i{place}" for place in range(20)], 0, 50)
    both = CostMatrix(costs, *names, statuses=statuses)
    first = CostMatrix(costs[:, :, :1], *names, statuses=statuses[:, :, :1])
    limits = [
        certificate.upper
        for runs in (both, first)
        if (certificate := assess(runs, chosen="before", raced=True).certificate) is not None
    ]
    assert len(limits) == 2
    assert limits[0] == limits[1]
    # Without a cap both rounds count, and the limit is another one.
    free = assess(CostMatrix(costs, *names), chosen="before", raced=True).certificate
    assert free is not None
    assert free.upper != limits[0]
