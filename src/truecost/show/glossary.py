"""What the words of a report mean: fifteen terms, each explained once."""

from typing import Final

TERMS: Final[dict[str, str]] = {
    "approximate interval": "A two-sided t interval of the difference at 1 − δ, from at least 25 "
    "units. Where runs cannot fail, it is widened by a correction for skewness (Hall's). It can be "
    "badly wrong if rare large costs are missing from the sample.",
    "basis": "Which runs count: test runs on fresh instances, runs of configurations that were "
    "fixed before, or the best of a fixed list (then δ is divided by the length of the list).",
    "censored run": "A run stopped before the cutoff because it could no longer matter. It counts "
    "with the largest possible cost in means and in no statement.",
    "configuration": "One complete setting of the algorithm's parameters.",
    "cost": "What a run costs; smaller is better. For scores, the best possible score minus the "
    "score.",
    "default": "The configuration to beat, usually the algorithm's default setting.",
    "grade": "Better and worse are proven: each is wrong with probability at most δ, whatever the "
    "distribution of costs. Probably rests on the approximate interval. Undecided means that the "
    "runs cannot tell.",
    "limit": "A guaranteed one-sided bound of a quantity over all instances of this kind. It is "
    "wrong with probability at most δ (5 % unless given).",
    "over-tuning": "By how much the training cost of the winner is too low, because it was chosen "
    "for being low.",
    "PAR10": "The running time, where a run that failed counts as 10 times the cutoff. PAR2 "
    "counts 2 times.",
    "penalty": "How many cutoffs a failed run costs. With a high penalty one rare timeout can "
    "outweigh many small gains.",
    "runs won": "The share of new runs in which the winner costs less than the default; a tie "
    "counts half.",
    "set of the best": "These configurations include the truly best one of the list, with "
    "probability 1 − δ.",
    "training cost": "The mean cost on the instances the configuration was chosen on. It flatters "
    "the winner.",
    "winner": "The configuration that tuning returned, or else the one with the lowest training "
    "cost.",
}
