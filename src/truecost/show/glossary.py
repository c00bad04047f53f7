"""What every number of a report means, explained once."""

from typing import Final, NamedTuple


class Term(NamedTuple):
    """The name of a term, and its explanation."""

    name: str
    words: str


# Each term by its key: its name, a colon, and its explanation.
_TEXTS: Final = {
    "configuration": "configuration: A full parameter setting of the algorithm.",
    "instance": "instance: A problem the algorithm is run on.",
    "run": "run: One configuration on one instance with one seed. Runs that timed out or crashed "
    "count, with their penalty as cost.",
    "runs-each": "runs on an instance: The largest number of runs a configuration has on one "
    "instance.",
    "missing": "missing runs: Cells of the matrix (configuration, instance, run) without a run.",
    "cost": "cost: What a run costs; lower is better. For instance PAR10 seconds, or the quality "
    "of a solution.",
    "range": "cost range: The lowest and highest cost a run can possibly have. A narrower range "
    "gives tighter limits.",
    "proposed": "how configurations were proposed: Beforehand: all were fixed before any cost was "
    "observed, as in random search. Adaptively: some were derived from observed costs, as in SMAC3 "
    "or irace; then only runs on new instances (of a fixed benchmark: with new seeds) can certify "
    "anything.",
    "raced": "race: How many runs a configuration got depended on observed costs, as in irace or "
    "SMAC3. Limits then have to hold at all times.",
    "incumbent": "incumbent: The configuration this report is about, also called the winner: the "
    "one that the search returned, else the one with the lowest training cost.",
    "default": "default: The configuration the winner is compared with.",
    "used": "instances with runs: The number of instances the configuration has runs on.",
    "rank": "rank: Position by training cost; 1 is the lowest.",
    "training-cost": "training cost: The mean cost of a configuration's runs, all instances "
    "weighted equally. For a configuration picked because this number is low, it is biased low.",
    "true-cost": "cost on new instances: An estimate of the true cost, the expected cost over all "
    "instances and seeds: the mean of the test runs, or without any, training cost + selection "
    "error. Unknown if the configuration was tuned on these instances.",
    "standard-error": "standard error: The typical distance between training cost and true cost, "
    "for a configuration that was not picked by its training cost.",
    "within": "within: Variance of the cost between runs on the same instance, averaged over "
    "instances: the effect of the seed.",
    "across": "across: Variance of the expected cost between instances.",
    "within-share": "share of within: The part of a run's variance that comes from the seed; the "
    "rest comes from the instance.",
    "not-solved": "not solved: Share of runs that timed out, ran out of memory, crashed or "
    "answered wrongly.",
    "censored": "censored runs: Runs stopped at a cap below the cutoff, because they could no "
    "longer win. Whether they would have been solved is unknown; they cost at least their cap.",
    "at-highest": "at the highest cost: Share of runs with the highest possible cost. How runs "
    "ended is unknown here.",
    "bottleneck": "bottleneck: The larger source of noise in the training cost: too few runs per "
    "instance, or too few instances.",
    "same-again": "twice the runs, same instances: Standard error after doubling the runs on the "
    "same instances.",
    "new-again": "twice the runs, new instances: Standard error after as many runs again on new "
    "instances.",
    "over-even": "variance relative to an even allocation: Variance of the training cost divided "
    "by that of as many runs spread evenly over all instances (S*); 1 is ideal.",
    "never-used": "instances never used: Instances on which other configurations have runs and the "
    "incumbent has none.",
    "selection-error": "selection error: How much better the configuration with the lowest "
    "training cost looks than it is. Estimated by choosing on one half of the instances and "
    "testing on the other, over many random splits, and scaled from half of the instances to all.",
    "held-out-cost": "cost on held-out halves: Choose the best on one half of the instances and "
    "take its cost on the other half: the mean over many random splits.",
    "test-cost": "test cost: The mean cost on instances not used for tuning: the fairest estimate.",
    "optimism": "optimism: Estimated cost on new instances − training cost of the incumbent: how "
    "flattering the training cost is. For the best of a fixed list it is the selection error; "
    "tuning adds to it.",
    "over-tuning": "over-tuning: Test cost of the incumbent − the lowest test cost of all "
    "incumbents. Above 0, an earlier one looks better, which can be noise: this is not a test.",
    "relative-over-tuning": "relative over-tuning: Over-tuning divided by the largest improvement "
    "over the first incumbent; at 1, the whole improvement is lost again.",
    "interval": "confidence limit: Computed from the runs alone, without known variances. If "
    "everything were repeated, the true cost would exceed the limit with probability at most δ, "
    "given the assumptions.",
    "difference": "winner − default: The mean difference of costs on common instances; below 0, "
    "the winner costs less.",
    "share": "share of the difference: Contribution of this instance to the sum of all "
    "differences.",
    "plan-instances": "K, instances: The number of instances of the cheapest plan that halves the "
    "standard error, if instances are unlimited.",
    "plan-runs": "N, runs: The number of runs of the configuration, spread evenly over the K "
    "instances (S*).",
    "floor": "lowest error on these instances: The standard error that remains however often these "
    "same instances are run again.",
    "shown-on": "instances to show it better: The number of new instances, run with both, that "
    "show it with 80 % probability, if they resemble these. If the incumbent was picked for its "
    "low cost here, the difference is overestimated and this number too small.",
    "tell-apart": "instances for a t-test: The number of instances a paired t-test (level 5 %) "
    "needs for 80 % power at the observed difference. If the incumbent was picked for its low cost "
    "here, the difference is overestimated and this number too small.",
    "observed": "observed: The same quantity in the recorded runs.",
    "guaranteed": "guaranteed: Holds for what the statement names, by default new instances and "
    "seeds; wrong with probability at most δ, given the assumptions.",
    "certificate": "certificate: A guaranteed limit of the mean cost of the incumbent.",
    "primary": "primary criterion: What decides the verdict: mean cost, or the share of wins where "
    "the cost range is unknown. Choose it before looking at results.",
    "journal": "journal: The SQLite file (.db) in which truecost records its runs. Every command "
    "reads it, and interrupted ones resume from it.",
    "scenario": "scenario: The file that says how to run a solver: command, parameters, instances, "
    "resource limits, metric.",
    "approximate": "approximate: Correct for many instances by the normal approximation, unless "
    "rare large costs are missing from the sample; not guaranteed.",
    "delta": "δ: The error probability of a statement; 0.05 is 95 % confidence.",
    "splits": "splits: The number of random splits of the instances into two halves.",
    "seed": "seed: The seed of this report's random numbers: the same seed gives the same page.",
    "version": "version: The version of truecost that made this page.",
}
TERMS: Final = {key: Term(*text.split(": ", 1)) for key, text in _TEXTS.items()}
