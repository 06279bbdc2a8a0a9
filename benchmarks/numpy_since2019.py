"""NumPy loops of the algorithms since the five papers, as a user would write them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.numpy_features import Learner
from benchmarks.numpy_loops import best, cascade, kl_upper
from toplist.core.slate import Floats, Ints
from toplist.worlds import TopicCoverage

Generator = np.random.Generator
Listing = Callable[[int, Floats, Floats], list[int]]  # at a step, from clicked and missed per item and position


def ucb_v(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of CascadeUCB-V."""

    def index(step: int, examined: Floats, clicked: Floats) -> Floats:
        mean, each = clicked / examined, 2.0 * math.log(step + 1) / examined
        scores: Floats = mean + np.sqrt(2.0 * mean * (1.0 - mean) * each) + 3.0 * each
        return scores

    return cascade(attraction, positions, steps, generator, index)


def ts_cascade(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of TS-Cascade."""
    drawn = generator.standard_normal(steps).tolist()

    def index(step: int, examined: Floats, clicked: Floats) -> Floats:
        mean, each = clicked / examined, math.log(step + 2) / (examined + 1.0)
        scores: Floats = mean + drawn[step] * np.maximum(np.sqrt(mean * (1.0 - mean) * each), each)
        return scores

    return cascade(attraction, positions, steps, generator, index)


def moss(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of CascadeMOSS."""
    share = steps / len(attraction)

    def index(_: int, examined: Floats, clicked: Floats) -> Floats:
        scores: Floats = clicked / examined + np.sqrt(np.maximum(np.log(share / examined), 0.0) / examined)
        return scores

    return cascade(attraction, positions, steps, generator, index)


def kl_ucb_plus_plus(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of CascadeKL-UCB++; only items observed since the last list are solved for."""
    share, upper = steps / len(attraction), np.zeros(len(attraction))
    known = np.full(len(attraction), -1.0)

    def index(_: int, examined: Floats, clicked: Floats) -> Floats:
        new = np.flatnonzero(known != examined)
        known[new] = examined[new]
        mean, log = clicked[new] / examined[new], np.maximum(np.log(share / examined[new]), 0.0)
        solved, budget = mean.copy(), log + np.log1p(log * log)
        some = (budget > 0.0) & (mean < 1.0)
        if some.any():
            solved[some] = kl_upper(mean[some], budget[some] / examined[new][some], upper[new][some])
        upper[new] = solved
        return upper.copy()

    return cascade(attraction, positions, steps, generator, index)


def by_position(attraction: Floats, positions: int, steps: int, generator: Generator, listing: Listing) -> float:
    """Show each visitor a list that is made of counts per item and position, and return the regret on cascade users."""
    attraction = generator.permutation(attraction)  # NumPy takes the first of equal items, which would be the best
    clicked, missed = np.zeros((len(attraction), positions)), np.zeros((len(attraction), positions))
    attracts, regret = attraction.tolist(), 0.0
    ideal = math.prod(1.0 - chance for chance in sorted(attracts)[-positions:])
    for step in range(steps):
        shown = listing(step, clicked, missed)
        regret += math.prod([1.0 - attracts[item] for item in shown]) - ideal
        waiting = True
        for place, coin in enumerate(generator.random(positions).tolist()):
            clicks = waiting and coin < attracts[shown[place]]
            (clicked if clicks else missed)[shown[place], place] += 1.0
            waiting = waiting and not clicks
    return regret


def pie(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of PBM-PIE."""
    kappa, budget = 1.0 / np.arange(1, positions + 1), 1.01 * math.log(steps)

    def listing(_: int, clicked: Floats, missed: Floats) -> list[int]:
        total, shown = clicked.sum(axis=1), clicked + missed
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = total / (shown @ kappa)
            estimate[np.isnan(estimate)] = np.inf
            leaders = best(estimate + 1e-9 * generator.random(len(estimate)), positions)
            level = estimate[leaders[-1]]
            if generator.random() < 0.5 or not 0.0 < level <= 1.0:
                return leaders
            fit = np.nan_to_num(clicked * np.log(clicked / shown)) + np.nan_to_num(missed * np.log(missed / shown))
            rest = np.maximum(1.0 - kappa * level, 1e-300)
            loss = fit.sum(axis=1) - clicked @ np.log(kappa) - total * math.log(level) - missed @ np.log(rest)
        able = (loss <= budget) | (missed @ (kappa / rest) <= total / level)
        able[leaders] = False
        others: Ints = np.flatnonzero(able)
        if len(others) > 0:
            leaders[-1] = int(generator.choice(others))
        return leaders

    return by_position(attraction, positions, steps, generator, listing)


def mhb(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of PB-MHB; steps this wide are as good as uniform, and attractions are moved all at once."""
    items = len(attraction)
    theta, kappa = generator.random(items), np.concatenate([[1.0], generator.random(positions - 1)])

    def listing(_: int, clicked: Floats, missed: Floats) -> list[int]:
        clicks, others, then = clicked + 0.5, missed + 0.5, generator.random(items)
        gain = clicks.sum(axis=1) * np.log(then / theta)
        gain += (others * (np.log1p(-np.outer(then, kappa)) - np.log1p(-np.outer(theta, kappa)))).sum(axis=1)
        moved = np.log(generator.random(items)) < gain
        theta[moved] = then[moved]
        for place in range(1, positions):
            to = generator.random()
            gain = clicks[:, place].sum() * math.log(to / kappa[place])
            gain += others[:, place] @ (np.log1p(-to * theta) - np.log1p(-kappa[place] * theta))
            if math.log(generator.random()) < gain:
                kappa[place] = to
        shown = [0] * positions
        for item, place in zip(best(theta, positions), np.argsort(-kappa).tolist(), strict=True):
            shown[place] = item
        return shown

    return by_position(attraction, positions, steps, generator, listing)


def grab(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of GRAB; indices are solved for the items just shown."""
    items, budget = len(attraction), math.log(steps)
    upper, led = np.ones((items, positions)), Counter[tuple[int, ...]]()
    places, start = np.arange(positions), np.full(positions, 0.5)
    last: list[int] = []

    def listing(_: int, clicked: Floats, missed: Floats) -> list[int]:
        shown = clicked + missed
        rate = clicked / np.maximum(shown, 1.0)
        if last:
            mean, radius = rate[last, places], budget / shown[last, places]
            certain = mean >= 1.0
            solved = kl_upper(np.where(certain, 0.5, mean), radius, start)
            upper[last, places] = np.where(certain, 1.0, solved)
        rows, columns = linear_sum_assignment(-rate)
        leader = rows[columns.argsort()].tolist()
        best_list, most = leader, 0.0
        if led[tuple(leader)] % 10 > 0:
            order = np.argsort(-rate[leader, places]).tolist()
            for one, two in itertools.pairwise(order):
                a, b = leader[one], leader[two]
                gain = upper[b, one] + upper[a, two] - upper[a, one] - upper[b, two]
                if gain > most:
                    best_list, most = leader.copy(), gain
                    best_list[one], best_list[two] = b, a
            column = upper[:, order[-1]] - upper[leader[order[-1]], order[-1]]
            column[leader] = -1.0
            item = int(column.argmax())
            if column[item] > most:
                best_list = leader.copy()
                best_list[order[-1]] = item
        led[tuple(leader)] += 1
        last[:] = best_list
        return [*best_list]

    return by_position(attraction, positions, steps, generator, listing)


def lin_ts_cascade(world: TopicCoverage, steps: int, generator: Generator, ideal: float, every: bool) -> float:
    """Regret of LinTS-Cascade, with the noise of the other loops over features."""
    learner = Learner(world, steps, generator, ideal)
    topics, d = learner.topics, learner.topics.shape[1]
    for step in range(steps):
        width = 0.75 * math.sqrt(d * learner.positions * math.log(step + 1))
        weights = learner.theta + width * np.linalg.cholesky(learner.inverse) @ generator.standard_normal(d)
        rows = topics[best(topics @ weights, learner.positions)]
        above = np.cumprod(1.0 - rows, axis=0)
        attraction = rows @ learner.preferences
        attraction[1:] = (rows[1:] * above[:-1]) @ learner.preferences
        learner.serve(rows, attraction, every)
    return learner.regret


def glrt_ucb(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of GLRT-CascadeUCB."""

    def index(mean: Floats, examined: Floats, since: int) -> Floats:
        with np.errstate(divide="ignore"):
            scores: Floats = mean + np.sqrt(1.5 * math.log(since) / examined)
        return scores

    return restarting(attraction, positions, steps, generator, index)


def glrt_kl_ucb(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of GLRT-CascadeKL-UCB."""

    def index(mean: Floats, examined: Floats, since: int) -> Floats:
        scores = np.where(examined > 0.0, mean, np.inf)
        budget = math.log(since) + 3.0 * math.log(max(math.log(since), 1.0)) if since > 1 else 0.0
        some = (examined > 0.0) & (mean < 1.0)
        if budget > 0.0 and some.any():
            scores[some] = kl_upper(mean[some], budget / examined[some], mean[some])
        return scores

    return restarting(attraction, positions, steps, generator, index)


def restarting(
    attraction: Floats,
    positions: int,
    steps: int,
    generator: Generator,
    index: Callable[[Floats, Floats, int], Floats],
) -> float:
    """Regret with forced turns and restarts; the likelihood ratio of an item is tested at up to 128 splits."""
    items, level = len(attraction), 1.0 / max(2, steps)
    share = min(1.0, math.sqrt(2.0 * items * math.log(max(2, steps)) / max(2, steps)))
    history: list[list[float]] = [[0.0] for _ in range(items)]  # cumulative clicks since the restart
    attracts, regret, since = attraction.tolist(), 0.0, 0
    ideal = math.prod(1.0 - chance for chance in sorted(attracts)[-positions:])
    for _ in range(steps):
        turn = since % int(items / share)
        since += 1
        if turn < items:
            others = [item for item in generator.permutation(items).tolist() if item != turn]
            shown = [turn, *others[: positions - 1]]
        else:
            examined = np.array([len(each) - 1.0 for each in history])
            clicked = np.array([each[-1] for each in history])
            shown = best(index(clicked / np.maximum(examined, 1.0), examined, since), positions)
        regret += math.prod([1.0 - attracts[item] for item in shown]) - ideal
        for place, coin in enumerate(generator.random(positions).tolist()):
            item, clicks = shown[place], coin < attracts[shown[place]]
            history[item].append(history[item][-1] + clicks)
            if has_changed(np.array(history[item]), level):
                history, since = [[0.0] for _ in range(items)], 0
            if clicks:
                break
    return regret


def has_changed(totals: Floats, level: float) -> bool:
    """Whether a likelihood ratio reaches its threshold at a split of an item's history."""
    n, total = len(totals) - 1, totals[-1]
    if not 0.0 < total < n:
        return False
    split = np.arange(1, n) if n <= 128 else np.unique(np.linspace(1, n - 1, 128).astype(np.int64))
    first, second, mean = totals[split] / split, (total - totals[split]) / (n - split), total / n
    ratio = split * divergence(first, mean) + (n - split) * divergence(second, mean)
    return bool(ratio.max(initial=0.0) >= math.log(3.0 * n**1.5 / level))


def divergence(p: Floats, q: float) -> Floats:
    """KL divergence of Bernoulli distributions."""
    ones = p * np.log(np.maximum(p, 1e-300) / q)
    found: Floats = ones + (1.0 - p) * np.log(np.maximum(1.0 - p, 1e-300) / (1.0 - q))
    return found


def c3(world: TopicCoverage, steps: int, generator: Generator, ideal: float, _: bool) -> float:
    """Regret of C3-UCB without discounts; the inverse is updated, and the determinant by the same factors."""
    topics, preferences = np.asarray(world.topics), np.ravel(world.preferences)
    d, positions, regret = topics.shape[1], world.positions, 0.0
    prior, logarithm = float(positions), 0.0
    inverse, total, theta = np.eye(d) / prior, np.zeros(d), np.zeros(d)
    for step in range(steps):
        radius = math.sqrt(logarithm + math.log(steps)) + math.sqrt(prior) if step else 1.0
        squares = np.einsum("ij,ij->i", topics @ inverse, topics)
        scores = np.minimum(topics @ theta + radius * np.sqrt(np.maximum(squares, 0.0)), 1.0)
        rows = topics[best(scores + 1e-9 * generator.random(len(scores)), positions)]
        above = np.cumprod(1.0 - rows, axis=0)
        attraction = rows @ preferences
        attraction[1:] = (rows[1:] * above[:-1]) @ preferences
        regret += ideal - 1.0 + math.prod((1.0 - attraction).tolist())
        for row, attracts in zip(rows, (generator.random(positions) < attraction).tolist(), strict=True):
            direction = inverse @ row
            scale = 1.0 + row @ direction
            inverse -= np.outer(direction, direction / scale)
            logarithm += math.log(scale)
            if attracts:
                total += row
                break
        theta = inverse @ total
    return regret


class RankedBlock:
    """A phase of RecurRank: items in order, for positions from `first` on."""

    def __init__(self, topics: Floats, phase: int, order: list[int], first: int, length: int, doubt: float) -> None:
        self.phase, self.order, self.first, self.length = phase, order, first, length
        rows = topics[order]
        share, rank = np.full(len(order), 1.0 / len(order)), np.linalg.matrix_rank(rows)
        for _ in range(100 * rank):
            variance = np.einsum("ij,ij->i", rows @ np.linalg.pinv(rows.T @ (share[:, None] * rows), 1e-9), rows)
            worst = variance.max()
            if worst <= 1.05 * rank:
                break
            share *= 1.0 - (step := (worst / rank - 1.0) / (worst - 1.0))
            share[variance.argmax()] += step
        lists = worst * 4.0**phase / 2.0 * (doubt + math.log(len(order) * phase * (phase + 1)))
        self.left = np.ceil(lists * share).astype(np.int64)
        self.gram, self.total = np.zeros((topics.shape[1],) * 2), np.zeros(topics.shape[1])

    def split(self, topics: Floats, doubt: float) -> list[RankedBlock]:
        """What follows the phase."""
        rates = topics[self.order] @ (np.linalg.pinv(self.gram, 1e-9) @ self.total)
        sort = np.argsort(-rates, kind="stable")
        apart, kept = 2.0 * 0.5**self.phase, self.length
        while kept < len(sort) and rates[sort[self.length - 1]] - rates[sort[kept]] < apart:
            kept += 1
        ends = [*(np.flatnonzero(-np.diff(rates[sort[: self.length]]) >= apart) + 1).tolist(), kept]
        order, found = [self.order[i] for i in sort], []
        for begin, end in itertools.pairwise([0, *ends]):
            length = min(end, self.length) - begin
            found.append(RankedBlock(topics, self.phase + 1, order[begin:end], self.first + begin, length, doubt))
        return found


def recur_rank(world: TopicCoverage, steps: int, generator: Generator, ideal: float, _: bool) -> float:
    """Regret of RecurRank."""
    topics, preferences = np.asarray(world.topics), np.ravel(world.preferences)
    positions, regret = world.positions, 0.0
    doubt = math.log(2.0 * positions * math.sqrt(max(2, steps)))
    blocks = [RankedBlock(topics, 1, generator.permutation(len(topics)).tolist(), 0, positions, doubt)]
    for coins in generator.random((steps, positions)):
        shown, drawn = [], []
        for block in blocks:
            drawn.append(int(np.searchsorted(np.cumsum(block.left), generator.random() * block.left.sum(), "right")))
            others = block.order[: drawn[-1]] + block.order[drawn[-1] + 1 :]
            shown += [block.order[drawn[-1]], *others[: block.length - 1]]
        rows = topics[shown]
        attraction = rows @ preferences
        attraction[1:] = (rows[1:] * np.cumprod(1.0 - rows, axis=0)[:-1]) @ preferences
        regret += ideal - 1.0 + math.prod((1.0 - attraction).tolist())
        attracts = coins < attraction
        clicked = int(attracts.argmax()) if attracts.any() else -1
        for block, at in zip(blocks, drawn, strict=True):
            row = rows[block.first]
            block.left[at] -= 1
            block.gram += np.outer(row, row)
            if clicked == block.first:
                block.total += row
        if any(not block.left.any() for block in blocks):
            blocks = [
                after for block in blocks for after in (block.split(topics, doubt) if not block.left.any() else [block])
            ]
    return regret
