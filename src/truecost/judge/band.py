"""A band for the whole distribution of costs: limits of many quantiles that hold at once."""

from dataclasses import dataclass

from truecost.judge.evidence import Evidence
from truecost.judge.question import Question, Stream
from truecost.judge.refusal import Refusal
from truecost.judge.sampling import sample_of
from truecost.stats.limits import limit
from truecost.stats.quantities import quantile

# More levels make finer steps, and each of them less certain.
LEVELS = tuple(level / 10 for level in range(1, 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBand:
    """Where the quantiles of a configuration's costs lie, with probability 1 − delta all at once.

    Attributes
    ----------
    levels
        Shares of runs, rising.
    lower
        The cost that the quantile at each level is at least; −inf if nothing is known.
    upper
        The cost that it is at most; inf if nothing is known.
    delta
        The probability with which any of them may be wrong.
    """

    levels: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    delta: float

    def at(self, cost: float) -> tuple[float, float]:
        """Return what the share of runs with at most this cost is at least and at most."""
        # A quantile of at most `cost` leaves its share at or below it; one above `cost` does not.
        reached = [p for p, end in zip(self.levels, self.upper, strict=True) if end <= cost]
        missed = [p for p, end in zip(self.levels, self.lower, strict=True) if end > cost]
        return max(reached, default=0.0), min(missed, default=1.0)


def cost_band(evidence: Evidence | Refusal, asked: Question) -> CostBand | Refusal:
    """Return the band of the evidence's configuration: δ is shared by all levels and both sides."""
    if isinstance(evidence, Refusal):
        return evidence
    sampled = sample_of(evidence, None, asked.rng(Stream.ORDER))
    if isinstance(sampled, Refusal):
        return sampled
    sample, look, part = sampled
    spent = asked.delta * evidence.share * part / (2 * len(LEVELS))
    ends: dict[str, list[float]] = {"lower": [], "upper": []}
    for level in LEVELS:
        quantity = quantile(level)
        if (reason := quantity.refusal(sample)) is not None:
            return Refusal(reason)
        ends["lower"].append(limit(quantity, sample, "lower", spent, look).value)
        ends["upper"].append(limit(quantity, sample, "upper", spent, look).value)
    return CostBand(
        levels=LEVELS, lower=tuple(ends["lower"]), upper=tuple(ends["upper"]), delta=asked.delta
    )
