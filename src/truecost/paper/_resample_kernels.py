"""Compiled loops: arrays in, arrays out, nothing else. `tests/naive.py` has their twins in plain
Python.

Every split has a stream of random numbers of its own (SplitMix64), so that results do not depend on
how splits are shared out among threads. A draw below n takes the upper 32 bits of one number; its
bias of n/2³² is far below any Monte Carlo error.
"""

import numba as nb
import numpy as np

from truecost.stats.compiled import compiled

# The constants of SplitMix64 (Steele, Lea and Flood 2014).
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)

EVEN, CONCENTRATED, SCATTERED, PAIRS = range(4)


@nb.njit
def _next(state):
    """The new state of a stream, and its next 64 random bits."""
    state = state + GAMMA
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return state, z ^ (z >> S31)


@nb.njit
def _below(state, n):
    """A whole number below n."""
    state, bits = _next(state)
    return state, np.int64(((bits >> S32) * np.uint64(n)) >> S32)


@nb.njit
def _split(state, places, drawn):
    """Fill `places` with 0, 1, 2 … and put `drawn` of them, in random order, first."""
    for i in range(places.size):
        places[i] = i
    for i in range(drawn):
        state, j = _below(state, places.size - i)
        places[i], places[i + j] = places[i + j], places[i]
    return state


@nb.njit
def _training(places, train):
    """The training instances in rising order: which is drawn when is decided by the schedule, and
    memory likes order.
    """
    training = np.sort(places[:train])
    return training.astype(np.uint64)


@nb.njit
def _deal(state, row, training, counts, orders, hands):
    """Deal one configuration's runs: hands[r, k] is the cost of the r-th run, in random order, on
    training instance k.

    With few runs a cell draws one of all their `orders`; with many, or uneven counts, it draws run
    after run.
    """
    runs = np.uint64(row.size // counts.size)
    if orders.shape[0] > 0:
        for k in range(training.size):
            state, bits = _next(state)
            pick = ((bits >> S32) * np.uint64(orders.shape[0])) >> S32
            base = training[k] * runs
            for r in range(hands.shape[0]):
                hands[r, k] = row[base + orders[pick, r]]
        return state
    left = np.empty(runs, np.uint64)
    for k in range(training.size):
        count = counts[training[k]]
        for r in range(count):
            left[r] = training[k] * runs + np.uint64(r)
        for r in range(hands.shape[0]):
            state, j = _below(state, count - r)
            hands[r, k] = row[left[r + j]]
            left[r + j] = left[r]
    return state


@nb.njit
def _means_over(means_by_instance, places, first, number, out):
    """Mean over `number` instances, for every configuration at once."""
    out[:] = 0.0
    for i in range(first, first + number):
        row = means_by_instance[places[i]]
        for c in range(out.size):
            out[c] += row[c]
    for c in range(out.size):
        out[c] *= 1.0 / number


@nb.njit
def _begin(seed, means_by_instance, train, test):
    """A split: the state of its stream, the instances with the training ones first, and every
    configuration's true cost.
    """
    places, truth = (
        np.empty(means_by_instance.shape[0], np.int64),
        np.empty(means_by_instance.shape[1]),
    )
    state = _split(seed, places, train + test)
    _means_over(means_by_instance, places, train, test, truth)
    return state, places, truth


@compiled(parallel=True)
def splits_of(means_by_instance, everywhere, seeds, train, test, training_costs, test_costs):
    """Training and test cost of every configuration in every split, all runs used; `everywhere`
    sums over all instances.
    """
    instances, configurations = means_by_instance.shape
    for s in nb.prange(seeds.size):
        places = np.empty(instances, np.int64)
        _split(seeds[s], places, train + test)
        _means_over(means_by_instance, places, 0, train, training_costs[s])
        if train + test == instances:
            # What is not for training is for testing: half of the additions are saved.
            for c in range(configurations):
                test_costs[s, c] = (everywhere[c] - training_costs[s, c] * train) / test
        else:
            _means_over(means_by_instance, places, train, test, test_costs[s])


@compiled
def ties(sorted_costs, first, last):
    """Where the group of equal costs that each place belongs to begins and ends, in every row."""
    for s in range(sorted_costs.shape[0]):
        cost, begin = sorted_costs[s], 0
        for i in range(cost.size):
            if i + 1 == cost.size or cost[i + 1] > cost[i]:
                for j in range(begin, i + 1):
                    first[s, j], last[s, j] = begin, i
                begin = i + 1


@compiled
def average_ties(values, last):
    """Average the values within ties, in place."""
    for s in range(values.shape[0]):
        i = 0
        while i < values.shape[1]:
            stop = last[s, i] + 1
            if stop > i + 1:
                values[s, i:stop] = values[s, i:stop].mean()
            i = stop


@compiled
def pack(values, first, last, out):
    """Numbers that sort as the values do, rounded to single precision, and carry first and last in
    their lower 32 bits.
    """
    bits = values.astype(np.float32).view(np.int32)
    for i in range(values.size):
        key = np.int64(bits[i])
        # Negative floats sort the other way round.
        key = key if key >= 0 else -(key & 0x7FFFFFFF)
        out[i] = (key << 32) | (np.int64(first[i]) << 16) | np.int64(last[i])


@compiled
def mixture_quantiles(packed, cumulative, splits, levels, block, out):
    """Quantiles of the mixture in which a value has the mean weight of the ranks first … last that
    are packed with it.

    `packed` is sorted; cumulative[v, k] is the weight of the first k ranks, the same in each of the
    splits. The weight below a value is found from counts of ranks at every `block`-th place, then
    item by item inside one block.
    """
    items, ranks = packed.size, cumulative.shape[1] - 1
    blocks = (items + block - 1) // block
    counts = np.zeros((blocks + 1, ranks))
    for b in range(blocks):
        counts[b + 1] = counts[b]
        for place in range(b * block, min(items, (b + 1) * block)):
            first, last = (packed[place] >> 16) & 0xFFFF, packed[place] & 0xFFFF
            share = 1.0 / (last - first + 1)
            for rank in range(first, last + 1):
                counts[b + 1, rank] += share
    weight = np.empty(ranks)
    keys = np.empty(1, np.int32)
    for v in range(cumulative.shape[0]):
        for rank in range(ranks):
            weight[rank] = cumulative[v, rank + 1] - cumulative[v, rank]
        for q in range(levels.size):
            target = levels[q] * splits * cumulative[v, ranks]
            low, high = 0, blocks
            while high - low > 1:
                middle = (low + high) // 2
                if np.dot(counts[middle], weight) < target:
                    low = middle
                else:
                    high = middle
            below = np.dot(counts[low], weight)
            place = low * block
            while place < items - 1:
                begin, end = (packed[place] >> 16) & 0xFFFF, (packed[place] & 0xFFFF) + 1
                below += (cumulative[v, end] - cumulative[v, begin]) / (end - begin)
                # A hair of slack: the sums of a complete mixture differ from its weight by
                # rounding.
                if below >= target * (1 - 1e-12):
                    break
                place += 1
            key = packed[place] >> 32
            keys[0] = key if key >= 0 else -key | -0x80000000
            out[q, v] = keys.view(np.float32)[0]


@nb.njit
def _add_and_select(sums, row, truth, n, steps):
    """One more run of every configuration: the uniform error, the selection error, shared over
    ties, and the lowest training cost.
    """
    scale = 1.0 / (n + 1)
    least, worst = np.inf, -np.inf
    for c in range(sums.size):
        sums[c] += row[c]
        cost = sums[c] * scale
        least = min(least, cost)
        worst = max(worst, truth[c] - cost)
    chosen, ties = 0.0, 0
    for c in range(sums.size):
        cost = sums[c] * scale
        # Ties are equal sums in one order of additions, hence equal to the last digit.
        if cost <= least:
            chosen += truth[c] - cost
            ties += 1
    steps[0, n], steps[1, n], steps[2, n] = worst, chosen / ties, least


@compiled(parallel=True, fastmath=True)
def common_sweep(
    costs_by_run, drawn, means_by_instance, seeds, train, test, rounds, values, curves
):
    """The error along a schedule that all configurations share: at every round a run of every
    training instance, in an order that is `drawn`, or else that of the split.
    """
    _, runs, configurations = costs_by_run.shape
    for s in nb.prange(seeds.size):
        state, places, truth = _begin(seeds[s], means_by_instance, train, test)
        run_orders, order = np.zeros((train, runs), np.int64), np.arange(train)
        if drawn:
            for k in range(train):
                state = _split(state, run_orders[k], rounds)
        sums = np.zeros(configurations)
        steps = np.empty((3, rounds * train))
        for n in range(rounds * train):
            i = n % train
            if drawn:
                state, j = _below(state, train - i)
                order[i], order[i + j] = order[i + j], order[i]
            row = costs_by_run[places[order[i]], run_orders[order[i], n // train]]
            _add_and_select(sums, row, truth, n, steps)
        for v in range(values.size):
            curves[:, s, v] = steps[:, values[v] - 1]


@nb.njit
def _play(state, hands, truth, scale, worst, least, chosen, tied):
    """One configuration's schedule, round after round; `worst` to `tied` keep what selects among
    configurations at each N.

    The innermost loop of all: every number of the stream draws two runs, indices are unsigned, and
    no array is handed on, which would count references at every step.
    """
    total, n = 0.0, np.uint64(0)
    bits = np.uint64(0)
    for r in range(hands.shape[0]):
        hand = hands[r]
        for step in range(hand.size):
            i = np.uint64(step)
            if step & 1 == 0:
                state, bits = _next(state)
                draw = bits >> S32
            else:
                draw = bits & LOW_32
            # One of what is left of the round's runs; the first of them takes its place.
            j = i + ((draw * (np.uint64(hand.size) - i)) >> S32)
            total += hand[j]
            hand[j] = hand[i]
            cost = total * scale[n]
            error = truth - cost
            if error > worst[n]:
                worst[n] = error
            if cost <= least[n]:
                if cost < least[n]:
                    least[n] = cost
                    chosen[n] = 0.0
                    tied[n] = 0.0
                chosen[n] += error
                tied[n] += 1.0
            n += np.uint64(1)
    return state


@compiled(parallel=True)
def n_sweep(costs, counts, orders, means_by_instance, seeds, train, test, rounds, values, curves):
    """The error against N, every configuration in an order of its own; `costs` has the runs that
    are there first.
    """
    configurations, most = costs.shape[0], rounds * train
    scale = 1.0 / np.arange(1, most + 1)
    for s in nb.prange(seeds.size):
        state, places, truth = _begin(seeds[s], means_by_instance, train, test)
        drawn, hands = _training(places, train), np.empty((rounds, train))
        worst, least = np.full(most, -np.inf), np.full(most, np.inf)
        chosen, tied = np.zeros(most), np.zeros(most)
        for c in range(configurations):
            state = _deal(state, costs[c].reshape(-1), drawn, counts[c], orders, hands)
            state = _play(state, hands, truth[c], scale, worst, least, chosen, tied)
        for v in range(values.size):
            n = values[v] - 1
            curves[0, s, v], curves[1, s, v] = worst[n], chosen[n] / tied[n]
            curves[2, s, v] = least[n]


@compiled(parallel=True)
def estimators(
    costs, counts, orders, means_by_instance, kind, seeds, train, test, values, absolute, squared
):
    """Mean over configurations of |û − u| and (û − u)² of one estimator at rising N, each
    configuration in its own order.
    """
    configurations, _, runs = costs.shape
    most = values[-1]
    rounds = min(runs, (most + train - 1) // train) if kind == EVEN else runs
    for s in nb.prange(seeds.size):
        state, places, truth = _begin(seeds[s], means_by_instance, train, test)
        drawn, hands = _training(places, train), np.empty((rounds, train))
        dealt, order = hands.reshape(-1), np.empty(train, np.int64)
        absolute[s, :] = 0.0
        squared[s, :] = 0.0
        for c in range(configurations):
            row, count = costs[c].reshape(-1), counts[c]
            if kind != SCATTERED:
                state = _deal(state, row, drawn, count, orders, hands)
            for k in range(train):
                order[k] = k
            total, v = 0.0, 0
            for n in range(most):
                if kind == CONCENTRATED:
                    i, r = n // runs, n % runs
                    if r == 0:
                        state, j = _below(state, train - i)
                        order[i], order[i + j] = order[i + j], order[i]
                    total += dealt[r * train + order[i]]
                elif kind == SCATTERED:
                    state, j = _below(state, train)
                    z = np.int64(drawn[j])
                    state, r = _below(state, count[z])
                    total += row[z * runs + r]
                else:
                    # One of what is left of the round's runs, or of all pairs; the first of them
                    # takes its place.
                    left = train - n % train if kind == EVEN else dealt.size - n
                    state, j = _below(state, left)
                    total += dealt[n + j]
                    dealt[n + j] = dealt[n]
                if n + 1 == values[v]:
                    error = truth[c] - total / (n + 1)
                    absolute[s, v] += abs(error) / configurations
                    squared[s, v] += error * error / configurations
                    v += 1
