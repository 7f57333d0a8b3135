"""Follow graphs at the start. All are built with keyed draws over whole arrays; an edge (i, j) means that i reads j.

Preferential attachment after Batagelj & Brandes 2005, small worlds after Watts & Strogatz 1998, both directed here.
"""

from __future__ import annotations

import numpy as np

from simflow.plan import Network
from simflow.world.draws import Draws, Ints

Edges = tuple[Ints, Ints]
"""(followers, followees), int64, equally long; without loops and doubles, sorted by follower, then followee."""


def build(network: Network, draws: Draws, count: int, groups: Ints) -> Edges:
    """The follow graph of `count` residents. `groups` (count,) is what `homophily_by` sorts them into; -1 nowhere.

    Links between groups are led back to the follower's own group with probability `homophily_strength` (`blocks` draws by group
    from the start). An edge file is read elsewhere.
    """
    links = max(0, min(network.links, count - 1))
    if count < 2 or links == 0 or network.shape == "file":
        return np.empty(0, np.int64), np.empty(0, np.int64)
    match network.shape:
        case "preferential":
            edges = preferential(draws, count, links)
        case "configuration":
            edges = configuration(draws, out_degrees(draws, count, links), in_degrees(draws, count, links))
        case "blocks":
            edges = blocks(draws, groups, links, network.homophily_strength)
        case _:
            edges = small_world(draws, count, links, network.rewire)
    if network.shape != "blocks" and network.homophily_strength > 0.0:
        edges = sort_alike(draws, edges, groups, network.homophily_strength)
    return edges


def shuffled(draws: Draws, count: int, purpose: str) -> Ints:
    """A keyed permutation of 0..count-1."""
    return np.argsort(draws.bits(purpose, -1, np.arange(count)), kind="stable")


def small_world(draws: Draws, count: int, links: int, rewire: float) -> Edges:
    """A ring on which each follows its `links` nearest, half on each side; each link moves to anybody with probability `rewire`."""
    position = shuffled(draws, count, "ring")
    steps = np.array([(k // 2 + 1) * (1 if k % 2 == 0 else -1) for k in range(links)])
    at = np.arange(count)
    source = np.repeat(at, links)
    target = (source + np.tile(steps, count)) % count
    slot = np.tile(np.arange(links), count)
    moved = draws.pair_unit("rewire", -1, source, slot) < rewire
    anywhere = (draws.pair_unit("rewire to", -1, source, slot) * count).astype(np.int64)
    return tidy(position[source], position[np.where(moved, anywhere, target)], count)


def preferential(draws: Draws, count: int, links: int) -> Edges:
    """Each new node follows `links` ends of earlier edges, so the followed are followed more. Nodes enter in a keyed order.

    Edge e has ends 2e (its own node) and 2e + 1 (a uniform earlier end); ends that point to ends are resolved by pointer jumping.
    """
    edges = count * links
    e = np.arange(edges, dtype=np.int64)
    source = e // links
    end = (draws.unit("attach", -1, e) * (2 * e + 1)).astype(np.int64)
    # An odd end points to the end that its edge drew; an even one is the node of its edge.
    pointing = np.flatnonzero(end & 1)
    while len(pointing):
        end[pointing] = end[end[pointing] >> 1]
        pointing = pointing[(end[pointing] & 1) == 1]
    target = (end >> 1) // links
    order = shuffled(draws, count, "entry")
    return tidy(order[source], order[target], count)


def blocks(draws: Draws, groups: Ints, links: int, strength: float) -> Edges:
    """Each follows `links` others: of the own group with probability `strength`, otherwise anybody."""
    count = len(groups)
    source = np.repeat(np.arange(count), links)
    slot = np.tile(np.arange(links), count)
    own = draws.pair_unit("own block", -1, source, slot) < strength
    return tidy(source, np.where(own, _alike(draws, source, slot, groups), _anybody(draws, source, slot, count)), count)


def stochastic_blocks(draws: Draws, groups: Ints, links: int, own_share: float) -> Edges:
    """Each follows `links` others, `own_share` of them in its own group and the rest in the others."""
    count = len(groups)
    source = np.repeat(np.arange(count), links)
    slot = np.tile(np.arange(links), count)
    own = draws.pair_unit("own block", -1, source, slot) < own_share
    other = _anybody(draws, source, slot, count)
    for turn in range(32):
        same = groups[other] == groups[source]
        if not same.any():
            break
        other[same] = _anybody(draws, source[same], slot[same] + links * (turn + 1), count)
    return tidy(source, np.where(own, _alike(draws, source, slot, groups), other), count)


def out_degrees(draws: Draws, count: int, links: int) -> Ints:
    """Between half and one and a half times `links`, uniform."""
    low, high = max(1, links // 2), links + links // 2
    return low + (draws.unit("out degree", -1, np.arange(count)) * (high - low + 1)).astype(np.int64)


def in_degrees(draws: Draws, count: int, links: int) -> Ints:
    """A Pareto tail with density exponent 3: proportional to 1 / sqrt(u), mean `links`."""
    u = draws.unit("in degree", -1, np.arange(count))
    return np.maximum(0, np.rint(0.5 * links / np.sqrt(np.maximum(u, 1.0 / count)))).astype(np.int64)


def configuration(draws: Draws, outs: Ints, ins: Ints) -> Edges:
    """The directed configuration model: each out-stub meets an in-stub drawn without replacement (with, once they run out).

    Loops and doubles are redrawn a few times among the in-stubs, then dropped.
    """
    count = len(outs)
    source = np.repeat(np.arange(count), outs)
    stubs = np.repeat(np.arange(count), ins)
    if len(stubs) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = shuffled(draws, len(stubs), "stubs")
    target = stubs[order[np.arange(len(source)) % len(stubs)]]
    ids = np.arange(len(source))
    for turn in range(8):
        key = source * count + target
        by = np.argsort(key, kind="stable")
        again = np.zeros(len(source), dtype=bool)
        again[by[1:]] = key[by[1:]] == key[by[:-1]]
        again |= source == target
        if not again.any():
            break
        picked = (draws.pair_unit("stub again", -1, ids[again], np.full(int(again.sum()), turn)) * len(stubs)).astype(np.int64)
        target[again] = stubs[picked]
    return tidy(source, target, count)


def sort_alike(draws: Draws, edges: Edges, groups: Ints, strength: float) -> Edges:
    """Lead links between groups back to the follower's own with probability `strength`."""
    source, target = edges[0], edges[1].copy()
    mixed = (groups[source] != groups[target]) & (draws.pair_unit("alike", -1, source, target) < strength)
    target[mixed] = _alike(draws, source[mixed], target[mixed], groups)
    return tidy(source, target, len(groups))


def tidy(source: Ints, target: Ints, count: int) -> Edges:
    """Without loops and doubles, sorted."""
    keys = (source * count + target)[source != target]
    keys.sort()
    keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
    return keys // count, keys % count


def _alike(draws: Draws, source: Ints, slot: Ints, groups: Ints) -> Ints:
    """Somebody of the follower's group (possibly itself, which is dropped)."""
    order = np.argsort(groups, kind="stable")
    ranked = groups[order]
    first = np.searchsorted(ranked, groups[source], side="left")
    size = np.searchsorted(ranked, groups[source], side="right") - first
    at = first + (draws.pair_unit("alike to", -1, source, slot) * size).astype(np.int64)
    # One further on instead of oneself, so that small groups keep their links.
    at = np.where(order[at] == source, first + (at - first + 1) % size, at)
    return np.asarray(order[at], dtype=np.int64)


def _anybody(draws: Draws, source: Ints, slot: Ints, count: int) -> Ints:
    at = (draws.pair_unit("anybody", -1, source, slot) * (count - 1)).astype(np.int64)
    return at + (at >= source)
