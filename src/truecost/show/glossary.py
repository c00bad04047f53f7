"""What every number of a report means, in plain words."""

from typing import Final, NamedTuple


class Term(NamedTuple):
    """What it is called, and what it means."""

    name: str
    words: str


TERMS: Final[dict[str, Term]] = {
    key: Term(name, words)
    for key, name, words in (
        ("configuration", "configuration", "A full parameter setting of the algorithm."),
        ("instance", "instance", "A problem the algorithm is run on."),
        (
            "run",
            "run",
            "One configuration on one instance with one seed. Runs that timed out or crashed count, with their penalty as "
            "cost.",
        ),
        (
            "runs-each",
            "runs on an instance",
            "The largest number of runs that a configuration has on an instance.",
        ),
        (
            "missing",
            "missing runs",
            "Places of the matrix (configuration, instance, run) that have no run.",
        ),
        (
            "cost",
            "cost",
            "What a run is worth, smaller is better: PAR10 seconds or the quality of a solution, for instance.",
        ),
        (
            "range",
            "cost range",
            "The least and the largest cost a run can have at all. Every valid limit rests on it: the narrower, the "
            "tighter.",
        ),
        (
            "ended",
            "how runs ended",
            "Solved, timed out, crashed and so on, before any cost was computed from it.",
        ),
        ("share-of-runs", "share of the runs", "How many of all runs there are, in per cent."),
        (
            "proposed",
            "how configurations were proposed",
            "Beforehand: all were fixed before any cost was seen, as in random search. Adaptively: some were made from the "
            "costs of others, as in SMAC3 or irace; then only runs on fresh instances can certify anything.",
        ),
        (
            "raced",
            "a race",
            "Whether the number of runs of a configuration depended on what they cost. Limits must then hold at all times.",
        ),
        (
            "incumbent",
            "incumbent",
            "The configuration this report is about: the one that was chosen.",
        ),
        ("default", "default", "The configuration the incumbent should be better than."),
        ("used", "instances with runs", "On how many instances the configuration has runs."),
        ("rank", "rank", "The place by training cost: 1 has the least."),
        (
            "training-cost",
            "training cost",
            "The mean cost of a configuration's runs, every instance counting alike. Of a configuration that was chosen "
            "because this number is low, it is too good to be true.",
        ),
        (
            "true-cost",
            "true cost",
            "The expected cost over all instances and seeds: what the configuration will really cost. Estimated by its "
            "mean on test runs; without any, by training cost + selection error; unknown where it was tuned on these "
            "instances.",
        ),
        (
            "standard-error",
            "standard error",
            "How far a training cost typically lies from the true cost by chance, for a configuration that was not chosen "
            "by it.",
        ),
        (
            "within",
            "within",
            "The variance of the cost between runs on the same instance: what the seed alone changes.",
        ),
        (
            "across",
            "across",
            "The variance of the expected cost between instances: some are hard, some are easy.",
        ),
        (
            "within-share",
            "share of within",
            "The part of a run's variance that comes from the seed; the rest comes from the instance.",
        ),
        (
            "not-solved",
            "not solved",
            "The share of a configuration's runs that timed out, ran out of memory, crashed or gave a wrong answer.",
        ),
        (
            "censored",
            "censored runs",
            "Runs that were stopped at a cap below the cutoff, because more could not matter to the search. Whether they "
            "would have been solved is not known; they cost their cap at least.",
        ),
        (
            "at-highest",
            "at the highest cost",
            "The share of a configuration's runs that have the highest possible cost: how runs ended is not known here.",
        ),
        (
            "bottleneck",
            "bottleneck",
            "What adds more to the noise of the training cost now: too few runs on each instance, or too few instances.",
        ),
        (
            "same-again",
            "as many runs again, same instances",
            "The standard error after as many runs again on the same instances.",
        ),
        (
            "new-again",
            "as many runs again, new instances",
            "The standard error after as many runs again on new instances.",
        ),
        (
            "over-even",
            "variance over even spread",
            "The variance of the training cost over that of as many runs spread evenly on all instances (S*); 1 is best.",
        ),
        (
            "never-used",
            "instances never used",
            "Instances on which other configurations have runs and the incumbent has none.",
        ),
        (
            "selection-error",
            "selection error",
            "By how much the configuration with the least training cost looks better than it is. Estimated by choosing on "
            "one half of the instances and looking at the other, over many random splits, and scaled from half of the "
            "instances to all.",
        ),
        (
            "corrected-cost",
            "corrected cost",
            "Training cost + selection error: an estimate of the true cost that makes up for having been chosen. No "
            "guarantee.",
        ),
        (
            "held-out-cost",
            "held-out cost",
            "Choose the best on one half of the instances and take its cost on the other half: the mean over many splits.",
        ),
        (
            "test-cost",
            "cost on test runs",
            "The mean cost on instances that nobody used to choose: the fairest estimate there is.",
        ),
        (
            "optimism",
            "optimism",
            "True cost − training cost of the incumbent, the true cost from test runs or corrected. It says that the number "
            "is too good, not that the choice is bad.",
        ),
        (
            "over-tuning",
            "over-tuning",
            "True cost of the incumbent − the least true cost an incumbent on the way had: above 0, the search went past "
            "something better.",
        ),
        (
            "relative-over-tuning",
            "relative over-tuning",
            "Over-tuning over the best gain on the first incumbent: at 1, all that was gained is lost again.",
        ),
        (
            "interval",
            "confidence interval",
            "Limits from the runs alone, without known variances. If all this were repeated, the true cost would lie "
            "outside with probability δ at most, provided that what it rests on holds.",
        ),
        ("limit-low", "true cost at least", "The lower end of the statement."),
        ("limit-high", "true cost at most", "The upper end of the statement."),
        ("width", "limit − estimate", "How far the limit lies above the estimate it starts from."),
        (
            "standing",
            "what it is worth",
            "Valid: holds with the probability said, if what it rests on holds. Plug-in: the formula is valid for known "
            "variances, and estimated ones were put in; a guide, not a guarantee.",
        ),
        (
            "difference",
            "incumbent − default",
            "The mean difference of costs on common instances, instance by instance: below 0 the incumbent costs less.",
        ),
        (
            "share",
            "share of the difference",
            "What this instance adds to the sum of all differences.",
        ),
        (
            "flips",
            "instances that decide",
            "How many of the instances that favour the difference the most can be dropped until it is gone. If few, the "
            "result hangs on them.",
        ),
        (
            "plan-instances",
            "K, instances",
            "How many instances to run on, if you can have as many as you like: the cheapest plan for half of the present "
            "standard error.",
        ),
        (
            "plan-runs",
            "N, runs",
            "How many runs of the configuration, spread evenly over the K instances (S*).",
        ),
        (
            "floor",
            "least error on these instances",
            "The standard error that is left however often these same instances are run again.",
        ),
        (
            "shown-on",
            "instances to show it better",
            "How many new instances, run with both, would show it in 80 % of samples, if they are like these. If the "
            "incumbent was chosen for its low cost here, the difference seen is too large, and this number too small.",
        ),
        (
            "tell-apart",
            "instances for a t-test",
            "How many instances a paired t-test (level 5 %) needs to show a difference as large as the one seen, with "
            "probability 80 %. If the incumbent was chosen for its low cost here, the difference seen is too large, and "
            "this number too small.",
        ),
        ("observed", "seen", "The same quantity of the runs that were made."),
        (
            "guaranteed",
            "guaranteed",
            "What holds for new instances and new seeds, wrong with probability δ at most, if what it rests on holds.",
        ),
        (
            "approximate",
            "approximate",
            "Right for many instances, by the normal distribution, unless rare large costs were never seen; not guaranteed.",
        ),
        ("delta", "δ", "The probability with which a statement may be wrong."),
        ("splits", "splits", "How many times the instances were split into two random halves."),
        (
            "seed",
            "seed",
            "Where the random numbers of this report start: the same seed gives the same page, byte for byte.",
        ),
        ("version", "version", "Of truecost, which made this page."),
        (
            "uniform-error",
            "uniform error",
            "The largest estimation error (true − training cost) of a set of configurations.",
        ),
        (
            "allocation",
            "allocation",
            "How many runs each instance gets; S* spreads them as evenly as can be.",
        ),
    )
}
