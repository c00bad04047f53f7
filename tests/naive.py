"""The paper's experiments in plain Python, written from its words: one split at a time, one run
after the other.

The twins of the compiled kernels: the same draws in the same order, so that results agree split by
split, and the yardstick of `make bench`, where the draws come from Python's own generator.
"""

import math
import random
from itertools import permutations
from typing import Protocol

Costs = list[list[list[float]]]  # configuration, instance, run
Curves = tuple[
    list[float], list[float], list[float]
]  # uniform error, selection error, training cost of the selected
WORD = 2**64


class Stream(Protocol):
    """Where draws come from."""

    def below(self, n: int) -> int:
        """A whole number below n."""

    def two_below(self, n: int) -> tuple[int, int]:
        """A whole number below n and one below n − 1."""


class SplitMix:
    """SplitMix64 (Steele, Lea and Flood, 2014): the stream of one split in the kernels."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        """The next 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """A whole number below n, from the upper 32 bits of the next number."""
        return (self.next() >> 32) * n >> 32

    def two_below(self, n: int) -> tuple[int, int]:
        """A whole number below n and one below n − 1, from the two halves of the next number."""
        bits = self.next()
        return (bits >> 32) * n >> 32, (bits % 2**32) * (n - 1) >> 32


class PythonStream:
    """Python's own generator, for timing."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random  # noqa: S311

    def below(self, n: int) -> int:
        """A whole number below n."""
        return int(self.random() * n)

    def two_below(self, n: int) -> tuple[int, int]:
        """A whole number below n and one below n − 1."""
        return int(self.random() * n), int(self.random() * (n - 1))


def draw(stream: Stream, from_: int, number: int) -> list[int]:
    """`number` different whole numbers below `from_` in random order."""
    items = list(range(from_))
    for i in range(number):
        j = i + stream.below(from_ - i)
        items[i], items[j] = items[j], items[i]
    return items[:number]


def split(stream: Stream, instances: int, train: int, test: int) -> tuple[list[int], list[int]]:
    """Training and test instances."""
    both = draw(stream, instances, train + test)
    return both[:train], both[train:]


def mean(values: list[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def cost_on(costs: list[list[float]], instances: list[int]) -> float:
    """A configuration's mean cost over all runs on these instances, each instance alike."""
    total = 0.0
    for z in instances:
        on_instance = 0.0
        for cost in costs[z]:
            on_instance += cost
        total += on_instance / len(costs[z])
    return total / len(instances)


def record(estimates: list[float], truths: list[float]) -> tuple[float, float, float]:
    """Uniform error, selection error shared over ties, and the least training cost."""
    errors = [truth - estimate for truth, estimate in zip(truths, estimates, strict=True)]
    least = min(estimates)
    tied = [error for error, estimate in zip(errors, estimates, strict=True) if estimate == least]
    return max(errors), mean(tied), least


def m_sweep(costs: Costs, stream: Stream, train: int, test: int) -> Curves:
    """One split and one random chain of configurations: the curves at m = 1 … M."""
    training, testing = split(stream, len(costs[0]), train, test)
    chain = draw(stream, len(costs), len(costs))
    curves: Curves = ([], [], [])
    worst, least, chosen = float("-inf"), float("inf"), 0.0
    for c in chain:
        estimate, truth = cost_on(costs[c], training), cost_on(costs[c], testing)
        worst = max(worst, truth - estimate)
        if estimate < least:
            least, chosen = estimate, truth - estimate
        for curve, value in zip(curves, (worst, chosen, least), strict=True):
            curve.append(value)
    return curves


def k_sweep(costs: Costs, stream: Stream, train: int, test: int) -> Curves:
    """One split: the curves at K = 1 … train."""
    training, testing = split(stream, len(costs[0]), train, test)
    truths = [cost_on(each, testing) for each in costs]
    sums = [0.0] * len(costs)
    curves: Curves = ([], [], [])
    for k, z in enumerate(training, 1):
        for c, each in enumerate(costs):
            on_instance = 0.0
            for cost in each[z]:
                on_instance += cost
            sums[c] += on_instance / len(each[z])
        for curve, value in zip(curves, record([total / k for total in sums], truths), strict=True):
            curve.append(value)
    return curves


def run_order(stream: Stream, runs: int, rounds: int, listed: bool) -> list[int]:
    """The first `rounds` runs of a cell in random order: one of all orders if there are few, else
    drawn one by one.
    """
    if listed and runs <= 6:
        orders = list(permutations(range(runs)))
        return list(orders[stream.below(len(orders))][:rounds])
    left, order = list(range(runs)), []
    for r in range(rounds):
        j = r + stream.below(runs - r)
        order.append(left[j])
        left[j] = left[r]
    return order


def round_order(stream: Stream, size: int, needed: int, paired: bool) -> list[int]:
    """The first `needed` of 0 … size − 1 in random order, drawn one by one or two at a time."""
    hand, order = list(range(size)), list[int]()
    while len(order) < needed:
        i = len(order)
        draws = stream.two_below(size - i) if paired else (stream.below(size - i),)
        for place, j in enumerate(draws, i):
            if place < size:
                order.append(hand[place + j])
                hand[place + j] = hand[place]
    return order


def even_schedule(
    stream: Stream, training: list[int], runs: list[int], most: int, listed: bool, paired: bool
) -> list[tuple[int, int]]:
    """S*: round after round over all training instances in a fresh random order, each time another
    run of the instance.
    """
    rounds = -(-most // len(training))
    orders = [run_order(stream, runs[z], rounds, listed) for z in training]
    schedule: list[tuple[int, int]] = []
    for r in range(rounds):
        needed = min(len(training), most - len(schedule))
        schedule += [
            (training[k], orders[k][r]) for k in round_order(stream, len(training), needed, paired)
        ]
    return schedule


def n_sweep(costs: Costs, stream: Stream, train: int, test: int, rounds: int) -> Curves:
    """One split, every configuration with its own schedule: the curves at N = 1 … rounds·train."""
    training, testing = split(stream, len(costs[0]), train, test)
    truths = [cost_on(each, testing) for each in costs]
    complete = len({len(cell) for each in costs for cell in each}) == 1
    estimates = []
    for each in costs:
        total, row = 0.0, []
        schedule = even_schedule(
            stream,
            sorted(training),
            [len(cell) for cell in each],
            rounds * train,
            complete,
            paired=True,
        )
        for n, (z, r) in enumerate(schedule, 1):
            total += each[z][r]
            row.append(total * (1.0 / n))
        estimates.append(row)
    curves: Curves = ([], [], [])
    for n in range(rounds * train):
        for curve, value in zip(curves, record([row[n] for row in estimates], truths), strict=True):
            curve.append(value)
    return curves


def n_sweep_common(costs: Costs, stream: Stream, train: int, test: int, rounds: int) -> Curves:
    """One split, all configurations with one schedule."""
    training, testing = split(stream, len(costs[0]), train, test)
    truths = [cost_on(each, testing) for each in costs]
    orders = [draw(stream, len(costs[0][0]), rounds) for _ in training]
    sums, hand = [0.0] * len(costs), list(range(train))
    curves: Curves = ([], [], [])
    for n in range(rounds * train):
        i = n % train
        j = i + stream.below(train - i)
        hand[i], hand[j] = hand[j], hand[i]
        z, r = training[hand[i]], orders[hand[i]][n // train]
        for c, each in enumerate(costs):
            sums[c] += each[z][r]
        for curve, value in zip(
            curves, record([total * (1.0 / (n + 1)) for total in sums], truths), strict=True
        ):
            curve.append(value)
    return curves


def schedule_of(
    kind: str, stream: Stream, training: list[int], runs: list[int], most: int
) -> list[tuple[int, int]]:
    """The first `most` runs of an estimator's schedule, as (instance, run)."""
    stored = runs[0]
    if kind == "even":
        return even_schedule(stream, training, runs, most, listed=True, paired=False)
    if kind == "concentrated":
        orders = [run_order(stream, stored, stored, listed=True) for _ in training]
        hand, schedule = list(range(len(training))), []
        for i in range(-(-most // stored)):
            j = i + stream.below(len(hand) - i)
            hand[i], hand[j] = hand[j], hand[i]
            schedule += [(training[hand[i]], r) for r in orders[hand[i]]]
        return schedule[:most]
    if kind == "scattered":
        schedule = []
        for _ in range(most):
            z = training[stream.below(len(training))]
            schedule.append((z, stream.below(runs[z])))
        return schedule
    orders = [run_order(stream, stored, stored, listed=True) for _ in training]
    pairs = [(z, orders[k][r]) for r in range(stored) for k, z in enumerate(training)]
    schedule = []
    for n in range(most):
        j = n + stream.below(len(pairs) - n)
        schedule.append(pairs[j])
        pairs[j] = pairs[n]
    return schedule


def estimator_errors(
    kind: str, costs: Costs, stream: Stream, train: int, test: int, numbers: list[int]
) -> tuple[list[float], list[float]]:
    """One split: the mean over configurations of the absolute and of the squared error at these N."""
    training, testing = split(stream, len(costs[0]), train, test)
    absolute, squared = [0.0] * len(numbers), [0.0] * len(numbers)
    for each in costs:
        truth = cost_on(each, testing)
        schedule = schedule_of(
            kind, stream, sorted(training), [len(cell) for cell in each], numbers[-1]
        )
        for v, number in enumerate(numbers):
            error = truth - sum(each[z][r] for z, r in schedule[:number]) / number
            absolute[v] += abs(error) / len(costs)
            squared[v] += error**2 / len(costs)
    return absolute, squared


def star_capital(x: list[float], mean: float, delta: float, cells: int) -> list[float]:
    """The capital of STaR-Bets against a mean after each number, with the bets made against the end
    of the mean's cell.
    """
    end = next(
        b
        for b in (math.sin(math.pi * j / (2 * cells)) ** 2 for j in range(1, cells + 1))
        if b >= mean
    )
    bets: list[float] = []
    for t in range(len(x)):
        ahead = math.prod(1 + bet * (value - end) for bet, value in zip(bets, x, strict=False))
        if ahead >= 1 / delta:
            bets.append(0.0)
            continue
        spread = end * (1 - end) + 0.001
        if t:
            spread = min(
                spread, sum((value - end) ** 2 for value in x[:t]) / t + end * len(x) / t**2
            )
        wanted = math.sqrt(2 * (math.log(1 / delta) - math.log(ahead)) / ((len(x) - t) * spread))
        bets.append(min(wanted, 1 / (end + 0.001)))
    return [math.prod(1 + bets[i] * (x[i] - mean) for i in range(t + 1)) for t in range(len(x))]


def plug_in_capital(x: list[float], mean: float, delta: float, *, sequence: bool) -> list[float]:
    """The capital of plug-in bets, each at most 3/4 of the capital, against a mean after each
    number.
    """
    capital, path = 1.0, []
    for t in range(1, len(x) + 1):
        means = [(0.5 + sum(x[:i])) / (i + 1) for i in range(t)]
        spread = (0.25 + sum((x[i - 1] - means[i]) ** 2 for i in range(1, t))) / t
        bet = math.sqrt(
            2 * math.log(1 / delta) / (spread * (t * math.log(t + 1) if sequence else len(x)))
        )
        capital *= 1 + min(bet, 0.75 / mean) * (x[t - 1] - mean)
        path.append(capital)
    return path


def watched_shows(x: list[float], mean: float, delta: float, planned: int) -> bool:
    """Whether half a capital in STaR-Bets for so many rounds and half in plug-in bets together ever
    reach 1/δ.
    """
    one = other = 0.5
    squares, total, spread = 0.0, 0.5, 0.25
    for t, value in enumerate(x):
        left = planned - t if t < planned else t + 1
        variance = 0.001 + mean * (1 - mean)
        if t:
            variance = min(variance, squares / t + mean * planned / t**2)
        missing = math.log(2 / delta / (2 * one))
        bold = min(math.sqrt(2 * missing / (left * variance)), 1 / (mean + 0.001))
        careful = min(math.sqrt(2 * math.log(2 / delta) / (math.log(t + 2) * spread)), 0.75 / mean)
        one *= 1 + bold * (value - mean)
        other *= 1 + careful * (value - mean)
        if one + other >= 1 / delta:
            return True
        squares += (value - mean) ** 2
        total += value
        spread += (value - total / (t + 2)) ** 2
    return False


def running_quantiles(values: list[list[float]], share: float) -> list[float]:
    """The quantile of the runs of the first 1, 2, … instances, each instance with the same weight."""
    found = []
    for k in range(1, len(values) + 1):
        weighted = sorted((value, 1 / len(runs)) for runs in values[:k] for value in runs)
        reached, rest = 0.0, iter(weighted)
        while reached < (share - 1e-12) * k:
            value, weight = next(rest)
            reached += weight
        found.append(value)
    return found


def star_bet(
    capital: float,
    past: list[float],
    left: int,
    rounds: int,
    end: float,
    goal: float,
    balanced: bool,
) -> float:
    """STaR-Bets' bet on the next number, after those of the past."""
    t, v = len(past), end * (1 - end)
    squares = sum((value - end) ** 2 for value in past)
    variance = v + 0.001
    if balanced:
        variance = min(variance, (squares + v) / (t + 1))
    elif t:
        variance = min(variance, squares / t + end * rounds / t**2)
    return min(
        math.sqrt(2 * math.log(goal / capital) / (left * max(variance, 1e-12))), 1 / (end + 0.001)
    )


def ledger_path(
    x: list[float],
    mean: float,
    delta: float,
    plans: list[int],
    shares: tuple[float, float, float],
    balanced: bool,
) -> list[float]:
    """The whole capital after each number until it reaches 1/δ: part of it in a sequence, part in
    the plan, part in its extensions, all along one order.
    """
    sequence, plan, extra = shares
    extensions = [extra * 6 / (math.pi * k) ** 2 for k in range(1, len(plans))]
    starts = [plan, *extensions]
    capitals, rest, path = [1.0] * len(plans), 1.0, []
    for t, value in enumerate(x):
        # Which plan was in force when this number was drawn.
        stage = next((j for j, size in enumerate(plans) if t < size), len(plans) - 1)
        past = x[:t]
        means = [(0.5 + sum(x[:i])) / (i + 1) for i in range(t + 1)]
        spread = 0.25 + sum((x[i - 1] - means[i]) ** 2 for i in range(1, t + 1))
        careful = 0.0
        if sequence + extra > 0:
            wanted = 2 * math.log((1 / delta) / (sequence + extra))
            careful = min(math.sqrt(wanted / (math.log(t + 2) * spread)), 0.75 / mean)
        for k, start in enumerate(starts):
            bet = careful
            if k <= stage:
                left = plans[stage] - t if t < plans[stage] else t + 1
                bet = 0.0
                if start > 0 and capitals[k] > 1e-300:
                    goal = 1 / delta / start
                    bet = star_bet(capitals[k], past, left, plans[stage], mean, goal, balanced)
            capitals[k] *= 1 + bet * (value - mean)
        rest *= 1 + careful * (value - mean)
        unused = sequence + extra - sum(extensions)
        path.append(unused * rest + sum(w * c for w, c in zip(starts, capitals, strict=True)))
        if path[-1] >= 1 / delta:
            break
    return path


def constant_capital(y: list[float], mean: float, delta: float, top: float) -> float:
    """The average capital of five constant bets against the average of different means."""
    total = 0.0
    for k in range(5):
        bet = math.sqrt(2 * math.log(5 / delta) / (len(y) * (top / 2) ** 2 / 4**k))
        total += math.prod(max(0.0, 1 + min(bet, 1 / mean) * (value - mean)) for value in y) / 5
    return total


def without_replacement_rejects(
    x: list[float], mean: float, population: int, delta: float, balanced: bool
) -> bool:
    """Whether STaR-Bets against the mean of the numbers not drawn yet ever reach 1/δ, or that mean
    becomes negative.
    """
    capital, squares, n = 1.0, 0.0, len(x)
    for t, value in enumerate(x):
        now = (population * mean - sum(x[:t])) / (population - t)
        if now < 0:
            return True
        bet = 0.0
        if 0 < now <= 1:
            remaining = population - t
            left = remaining**2 * (1 / (population - n + 0.5) - 1 / (remaining + 0.5))
            v = now * (1 - now)
            variance = v + 0.001
            if balanced:
                variance = min(variance, (squares + v) / (t + 1))
            elif t:
                variance = min(variance, squares / t + now * n / t**2)
            missing = math.log(1 / delta / capital)
            bet = min(
                math.sqrt(2 * missing / (max(left, 1.0) * max(variance, 1e-12))), 1 / (now + 0.001)
            )
        capital *= 1 + bet * (value - now)
        if capital >= 1 / delta:
            return True
        squares += (value - now) ** 2
    return population * mean < sum(x)


def mixed_capital(
    families: list[list[float]], labels: list[list[int]], mean: float, goal: float
) -> float:
    """The capital of STaR-Bets on numbers picked by labels, averaged over sequences of labels; a
    family that has no number left gives 0.
    """
    total = 0.0
    for sequence in labels:
        unused = [list(family) for family in families]
        x = [unused[f].pop(0) if unused[f] else 0.0 for f in sequence]
        capital = 1.0
        for t, value in enumerate(x):
            if capital >= goal:
                break
            bet = star_bet(capital, x[:t], len(x) - t, len(x), mean, goal, False)
            capital *= 1 + bet * (value - mean)
        total += capital / len(labels)
    return total


def closed_test(e_values: list[float], delta: float) -> list[bool]:
    """Which hypotheses fall: every set of hypotheses that contains one has an average of 1/δ or
    more.
    """
    number = len(e_values)
    sets = [[i for i in range(number) if code >> i & 1] for code in range(1, 2**number)]
    return [
        all(mean([e_values[j] for j in some]) >= 1 / delta for some in sets if i in some)
        for i in range(number)
    ]
