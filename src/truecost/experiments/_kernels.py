"""Compiled loops: arrays in, arrays out, nothing else. `tests/naive.py` has their twins in plain Python.

Every split has a stream of random numbers of its own (SplitMix64), so that results do not depend on how splits are shared
out among threads. A draw below n takes the upper 32 bits of one number; its bias of n/2³² is far below any Monte Carlo
error.
"""

import numba as nb
import numpy as np

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

EVEN, CONCENTRATED, SCATTERED, PAIRS = range(4)


@nb.njit
def _next(state):
    """The next number of a stream: the new state, and 32 random bits."""
    state = state + GAMMA
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return state, (z ^ (z >> S31)) >> S32


@nb.njit
def _below(state, n):
    """A whole number below n."""
    state, bits = _next(state)
    return state, np.int64((bits * np.uint64(n)) >> S32)


@nb.njit
def _split(state, places, drawn):
    """Fill `places` with 0, 1, 2 … and put `drawn` of them, at random and in random order, first."""
    for i in range(places.size):
        places[i] = i
    for i in range(drawn):
        state, j = _below(state, places.size - i)
        places[i], places[i + j] = places[i + j], places[i]
    return state


@nb.njit
def _deal(state, row, places, train, counts, orders, rounds, hands):
    """Deal one configuration's runs: hands[r, k] is the cost of the r-th run, in random order, on training instance k.

    With few runs a cell draws one of all their `orders`; with many, or uneven counts, it draws run after run.
    """
    runs = row.size // counts.size
    if orders.shape[0] > 0:
        for k in range(train):
            state, pick = _below(state, orders.shape[0])
            base = places[k] * runs
            for r in range(rounds):
                hands[r, k] = row[base + orders[pick, r]]
        return state
    left = np.empty(runs, np.int64)
    for k in range(train):
        base, count = places[k] * runs, counts[places[k]]
        for r in range(count):
            left[r] = base + r
        for r in range(rounds):
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


@nb.njit(parallel=True, cache=True)
def splits_of(means_by_instance, seeds, train, test, training_costs, test_costs):
    """Training and test cost of every configuration in every split, all runs used."""
    instances = means_by_instance.shape[0]
    for s in nb.prange(seeds.size):
        places = np.empty(instances, np.int64)
        _split(seeds[s], places, train + test)
        _means_over(means_by_instance, places, 0, train, training_costs[s])
        _means_over(means_by_instance, places, train, test, test_costs[s])


@nb.njit(parallel=True, cache=True)
def sort_splits(training_costs, test_costs, errors, by_cost, first, last):
    """Sort each split's errors; order its configurations by training cost, and say where each tie begins and ends."""
    splits, configurations = training_costs.shape
    for s in nb.prange(splits):
        cost, test = training_costs[s], test_costs[s]
        errors[s] = np.sort(test - cost)
        order = np.argsort(cost)
        begin = 0
        for i in range(configurations):
            by_cost[s, i] = order[i]
            if i + 1 == configurations or cost[order[i + 1]] > cost[order[i]]:
                for j in range(begin, i + 1):
                    first[s, j], last[s, j] = begin, i
                begin = i + 1


@nb.njit(parallel=True, cache=True, fastmath=True)
def weigh(values, weights, begin, end, out):
    """out[s, v] = Σ_i weights[v, i]·values[s, i] over the i from begin[v] to end[v] where the weights are not negligible."""
    for s in nb.prange(values.shape[0]):
        row = values[s]
        for v in range(weights.shape[0]):
            total = 0.0
            for i in range(begin[v], end[v]):
                total += weights[v, i] * row[i]
            out[s, v] = total


@nb.njit(parallel=True, cache=True)
def average_ties(values, by_cost, last, out):
    """Each split's values in order of training cost, averaged within ties."""
    for s in nb.prange(values.shape[0]):
        i = 0
        while i < values.shape[1]:
            stop = last[s, i] + 1
            total = 0.0
            for j in range(i, stop):
                total += values[s, by_cost[s, j]]
            for j in range(i, stop):
                out[s, j] = total / (stop - i)
            i = stop


@nb.njit(parallel=True, cache=True)
def mixture_quantiles(values, first, last, order, cumulative, levels, block, out):
    """Quantiles of the mixture in which value i has the mean weight of the ranks first[i] to last[i].

    `order` sorts the pooled values; cumulative[v, k] is the weight of the first k ranks. The weight below a value is found
    from counts of ranks at every `block`-th place, then item by item inside one block.
    """
    items, ranks = order.size, cumulative.shape[1] - 1
    blocks = (items + block - 1) // block
    counts = np.zeros((blocks + 1, ranks))
    for b in range(blocks):
        counts[b + 1] = counts[b]
        for place in range(b * block, min(items, (b + 1) * block)):
            item = order[place]
            share = 1.0 / (last[item] - first[item] + 1)
            for rank in range(first[item], last[item] + 1):
                counts[b + 1, rank] += share
    splits = items / ranks
    for v in nb.prange(cumulative.shape[0]):
        for q in range(levels.size):
            target = levels[q] * splits * cumulative[v, ranks]
            low, high = 0, blocks
            while high - low > 1:
                middle = (low + high) // 2
                below = 0.0
                for rank in range(ranks):
                    below += counts[middle, rank] * (cumulative[v, rank + 1] - cumulative[v, rank])
                if below < target:
                    low = middle
                else:
                    high = middle
            below = 0.0
            for rank in range(ranks):
                below += counts[low, rank] * (cumulative[v, rank + 1] - cumulative[v, rank])
            place = low * block
            # A hair of slack: the sums of a complete mixture differ from its weight by rounding.
            while place < items - 1:
                item = order[place]
                below += (cumulative[v, last[item] + 1] - cumulative[v, first[item]]) / (last[item] - first[item] + 1)
                if below >= target * (1 - 1e-12):
                    break
                place += 1
            out[q, v] = values[order[place]]


@nb.njit(parallel=True, cache=True, fastmath=True)
def k_sweep(means_by_instance, seeds, train, test, uniform, selection, training):
    """The error against K: a growing prefix of the training set, all runs used."""
    instances, configurations = means_by_instance.shape
    for s in nb.prange(seeds.size):
        places = np.empty(instances, np.int64)
        _split(seeds[s], places, train + test)
        truth = np.empty(configurations)
        _means_over(means_by_instance, places, train, test, truth)
        sums = np.zeros(configurations)
        for k in range(train):
            _add_and_select(sums, means_by_instance[places[k]], truth, k, uniform[s], selection[s], training[s])


@nb.njit
def _add_and_select(sums, row, truth, n, uniform, selection, training):
    """One more run of every configuration: the uniform error, and the selection error, shared over ties."""
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
        if cost <= least:
            chosen += truth[c] - cost
            ties += 1
    uniform[n], selection[n], training[n] = worst, chosen / ties, least


@nb.njit(parallel=True, cache=True, fastmath=True)
def n_sweep_common(costs_by_run, means_by_instance, seeds, train, test, rounds, values, uniform, selection, training):
    """The error against N, every configuration in the same order of instances and runs."""
    instances, runs, configurations = costs_by_run.shape
    for s in nb.prange(seeds.size):
        places = np.empty(instances, np.int64)
        state = _split(seeds[s], places, train + test)
        truth = np.empty(configurations)
        _means_over(means_by_instance, places, train, test, truth)
        run_orders, order = np.empty((train, runs), np.int64), np.arange(train)
        for k in range(train):
            state = _split(state, run_orders[k], rounds)
        sums = np.zeros(configurations)
        curves = np.empty((3, rounds * train))
        for n in range(rounds * train):
            i = n % train
            state, j = _below(state, train - i)
            order[i], order[i + j] = order[i + j], order[i]
            row = costs_by_run[places[order[i]], run_orders[order[i], n // train]]
            _add_and_select(sums, row, truth, n, curves[0], curves[1], curves[2])
        for v in range(values.size):
            n = values[v] - 1
            uniform[s, v], selection[s, v], training[s, v] = curves[0, n], curves[1, n], curves[2, n]


@nb.njit(parallel=True, cache=True)
def n_sweep(costs, counts, orders, means_by_instance, seeds, train, test, rounds, values, uniform, selection, training):
    """The error against N, every configuration in an order of its own; `costs` has the runs that are there first."""
    configurations, instances, _ = costs.shape
    most = rounds * train
    scale = 1.0 / np.arange(1, most + 1)
    for s in nb.prange(seeds.size):
        places = np.empty(instances, np.int64)
        state = _split(seeds[s], places, train + test)
        truth = np.empty(configurations)
        _means_over(means_by_instance, places, train, test, truth)
        hands = np.empty((rounds, train))
        worst, least = np.full(most, -np.inf), np.full(most, np.inf)
        chosen, ties = np.zeros(most), np.zeros(most)
        for c in range(configurations):
            state = _deal(state, costs[c].reshape(-1), places, train, counts[c], orders, rounds, hands)
            total, n = 0.0, 0
            for r in range(rounds):
                hand = hands[r]
                for i in range(train):
                    # The order of instances in a round: what is drawn leaves the hand.
                    state, j = _below(state, train - i)
                    total += hand[i + j]
                    hand[i + j] = hand[i]
                    cost = total * scale[n]
                    error = truth[c] - cost
                    if error > worst[n]:
                        worst[n] = error
                    if cost < least[n]:
                        least[n], chosen[n], ties[n] = cost, error, 1.0
                    elif cost == least[n]:
                        chosen[n] += error
                        ties[n] += 1.0
                    n += 1
        for v in range(values.size):
            n = values[v] - 1
            uniform[s, v], selection[s, v], training[s, v] = worst[n], chosen[n] / ties[n], least[n]


@nb.njit(parallel=True, cache=True)
def estimators(costs, counts, orders, means_by_instance, seeds, kind, train, test, values, absolute, squared):
    """Mean over configurations of |û − u| and (û − u)² of one estimator at rising N, each configuration in its own order."""
    configurations, instances, runs = costs.shape
    most = values[-1]
    rounds = min(runs, (most + train - 1) // train) if kind == EVEN else runs
    for s in nb.prange(seeds.size):
        places = np.empty(instances, np.int64)
        state = _split(seeds[s], places, train + test)
        truth = np.empty(configurations)
        _means_over(means_by_instance, places, train, test, truth)
        hands = np.empty((rounds, train))
        order = np.empty(train, np.int64)
        absolute[s, :] = 0.0
        squared[s, :] = 0.0
        for c in range(configurations):
            row, count = costs[c].reshape(-1), counts[c]
            if kind != SCATTERED:
                state = _deal(state, row, places, train, count, orders, rounds, hands)
            pairs = hands.reshape(-1)
            for k in range(train):
                order[k] = k
            total, v = 0.0, 0
            for n in range(most):
                if kind == EVEN:
                    i, hand = n % train, hands[n // train]
                    state, j = _below(state, train - i)
                    total += hand[i + j]
                    hand[i + j] = hand[i]
                elif kind == CONCENTRATED:
                    i, r = n // runs, n % runs
                    if r == 0:
                        state, j = _below(state, train - i)
                        order[i], order[i + j] = order[i + j], order[i]
                    total += hands[r, order[i]]
                elif kind == SCATTERED:
                    state, j = _below(state, train)
                    state, r = _below(state, count[places[j]])
                    total += row[places[j] * runs + r]
                else:
                    state, j = _below(state, pairs.size - n)
                    total += pairs[n + j]
                    pairs[n + j] = pairs[n]
                if n + 1 == values[v]:
                    error = truth[c] - total / (n + 1)
                    absolute[s, v] += abs(error) / configurations
                    squared[s, v] += error * error / configurations
                    v += 1
