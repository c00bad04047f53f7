"""What every number of a report means, explained once."""

from typing import Final, NamedTuple


class Term(NamedTuple):
    """The name of a term, and its explanation."""

    name: str
    words: str


TERMS: Final[dict[str, Term]] = {
    "configuration": Term("configuration", "A full parameter setting of the algorithm."),
    "instance": Term("instance", "A problem the algorithm is run on."),
    "run": Term(
        "run",
        "One configuration on one instance with one seed. Runs that timed out or crashed count, "
        "with their penalty as cost.",
    ),
    "runs-each": Term(
        "runs on an instance", "The largest number of runs a configuration has on one instance."
    ),
    "missing": Term(
        "missing runs", "Cells of the matrix (configuration, instance, run) without a run."
    ),
    "cost": Term(
        "cost",
        "What a run costs; lower is better. For instance PAR10 seconds, or the quality of a "
        "solution.",
    ),
    "range": Term(
        "cost range",
        "The lowest and highest cost a run can possibly have. A narrower range gives tighter "
        "limits.",
    ),
    "proposed": Term(
        "how configurations were proposed",
        "Beforehand: all were fixed before any cost was observed, as in random search. Adaptively: "
        "some were derived from observed costs, as in SMAC3 or irace; then only runs on new "
        "instances can certify anything.",
    ),
    "raced": Term(
        "a race",
        "The number of runs of a configuration depended on observed costs. Limits then have to "
        "hold at all times.",
    ),
    "incumbent": Term("incumbent", "The configuration this report is about: the winner."),
    "default": Term("default", "The configuration the winner is compared with."),
    "used": Term("instances with runs", "The number of instances the configuration has runs on."),
    "rank": Term("rank", "Position by training cost; 1 is the lowest."),
    "training-cost": Term(
        "training cost",
        "The mean cost of a configuration's runs, all instances weighted equally. For a "
        "configuration picked because this number is low, it is biased low.",
    ),
    "true-cost": Term(
        "cost on new instances",
        "An estimate of the true cost, the expected cost over all instances and seeds: the mean of "
        "the test runs, or without any, training cost + selection error. Unknown if the "
        "configuration was tuned on these instances.",
    ),
    "standard-error": Term(
        "standard error",
        "The typical distance between training cost and true cost, for a configuration that was "
        "not picked by its training cost.",
    ),
    "within": Term(
        "within", "Variance of the cost between runs on the same instance: the effect of the seed."
    ),
    "across": Term("across", "Variance of the expected cost between instances."),
    "within-share": Term(
        "share of within",
        "The part of a run's variance that comes from the seed; the rest comes from the instance.",
    ),
    "not-solved": Term(
        "not solved",
        "Share of runs that timed out, ran out of memory, crashed or answered wrongly.",
    ),
    "censored": Term(
        "censored runs",
        "Runs stopped at a cap below the cutoff, because the search had no use for more. Whether "
        "they would have been solved is unknown; they cost at least their cap.",
    ),
    "at-highest": Term(
        "at the highest cost",
        "Share of runs with the highest possible cost. How runs ended is unknown here.",
    ),
    "bottleneck": Term(
        "bottleneck",
        "The larger source of noise in the training cost: too few runs per instance, or too few "
        "instances.",
    ),
    "same-again": Term(
        "twice the runs, same instances",
        "Standard error after doubling the runs on the same instances.",
    ),
    "new-again": Term(
        "twice the runs, new instances", "Standard error after as many runs again on new instances."
    ),
    "over-even": Term(
        "variance relative to an even allocation",
        "Variance of the training cost divided by that of as many runs spread evenly over all "
        "instances (S*); 1 is ideal.",
    ),
    "never-used": Term(
        "instances never used",
        "Instances on which other configurations have runs and the incumbent has none.",
    ),
    "selection-error": Term(
        "selection error",
        "How much better the configuration with the lowest training cost looks than it is. "
        "Estimated by choosing on one half of the instances and testing on the other, over many "
        "random splits, and scaled from half of the instances to all.",
    ),
    "held-out-cost": Term(
        "cost on held-out halves",
        "Choose the best on one half of the instances and take its cost on the other half: the "
        "mean over many random splits.",
    ),
    "test-cost": Term(
        "test cost", "The mean cost on instances not used for tuning: the fairest estimate."
    ),
    "optimism": Term(
        "optimism",
        "Estimated cost on new instances − training cost of the incumbent. It measures how "
        "flattering the training cost is, not whether the choice was bad.",
    ),
    "over-tuning": Term(
        "over-tuning",
        "Test cost of the incumbent − the lowest test cost of any earlier incumbent. Above 0, an "
        "earlier incumbent was better.",
    ),
    "relative-over-tuning": Term(
        "relative over-tuning",
        "Over-tuning divided by the largest improvement over the first incumbent; at 1, the whole "
        "improvement is lost again.",
    ),
    "interval": Term(
        "confidence limit",
        "Computed from the runs alone, without known variances. If everything were repeated, the "
        "true cost would exceed the limit with probability at most δ, given the assumptions.",
    ),
    "difference": Term(
        "winner − default",
        "The mean difference of costs on common instances; below 0, the winner costs less.",
    ),
    "share": Term(
        "share of the difference", "Contribution of this instance to the sum of all differences."
    ),
    "plan-instances": Term(
        "K, instances",
        "The number of instances of the cheapest plan that halves the standard error, if "
        "instances are unlimited.",
    ),
    "plan-runs": Term(
        "N, runs",
        "The number of runs of the configuration, spread evenly over the K instances (S*).",
    ),
    "floor": Term(
        "lowest error on these instances",
        "The standard error that remains however often these same instances are run again.",
    ),
    "shown-on": Term(
        "instances to show it better",
        "The number of new instances, run with both, that show it with 80 % probability, if they "
        "resemble these. If the incumbent was picked for its low cost here, the difference is "
        "overestimated and this number too small.",
    ),
    "tell-apart": Term(
        "instances for a t-test",
        "The number of instances a paired t-test (level 5 %) needs for 80 % power at the observed "
        "difference. If the incumbent was picked for its low cost here, the difference is "
        "overestimated and this number too small.",
    ),
    "observed": Term("observed", "The same quantity in the recorded runs."),
    "guaranteed": Term(
        "guaranteed",
        "Holds for new instances and seeds; wrong with probability at most δ, given the "
        "assumptions.",
    ),
    "approximate": Term(
        "approximate",
        "Correct for many instances by the normal approximation, unless rare large costs are "
        "missing from the sample; not guaranteed.",
    ),
    "delta": Term("δ", "The error probability of a statement; 0.05 is 95 % confidence."),
    "splits": Term("splits", "The number of random splits of the instances into two halves."),
    "seed": Term(
        "seed", "The seed of this report's random numbers: the same seed gives the same page."
    ),
    "version": Term("version", "The version of truecost that made this page."),
}
