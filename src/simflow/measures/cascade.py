"""Measures of cascades: trees of posts and what answers or shares them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cascades:
    """One row a tree, by root: rows of the root, nodes, edges from the root to the deepest, most nodes at one depth, virality."""

    root: I64
    size: I64
    depth: I64
    breadth: I64
    virality: F64
    """Mean distance of two nodes (Goel et al. 2016): 2 sum s(n - s) / (n(n - 1)) over subtree sizes s; 0 for a single node."""


def parents(episode: I64, parent: I64) -> I64:
    """Row of each parent, -1 if it has none among `episode` (or is itself one). parent: ids, negative where there is none."""
    order = np.argsort(episode, kind="stable")
    at = np.minimum(np.searchsorted(episode, parent, sorter=order), max(0, len(episode) - 1))
    row = order[at] if len(episode) else at
    found = (parent >= 0) & (episode[row] == parent) & (row != np.arange(len(episode))) if len(episode) else np.zeros(0, dtype=bool)
    return np.where(found, row, -1).astype(np.int64)


def depths(parent: I64) -> I64:
    """Edges from the root of each node. Raises ValueError for a circle."""
    depth = np.where(parent < 0, 0, -1).astype(np.int64)
    open_ = np.flatnonzero(depth < 0)
    while len(open_):
        above = depth[parent[open_]]
        ready = above >= 0
        if not ready.any():
            raise ValueError("the parents go in a circle")
        depth[open_[ready]] = above[ready] + 1
        open_ = open_[~ready]
    return depth


def cascades(parent: I64) -> Cascades:
    """All trees of a forest. parent: row of each node's parent, -1 for roots, shape (n,)."""
    n = len(parent)
    depth = depths(parent)
    root = np.arange(n)
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 1)))
    for level in levels[1:]:
        root[level] = root[parent[level]]
    below = np.ones(n, dtype=np.int64)
    for level in levels[:0:-1]:
        np.add.at(below, parent[level], below[level])
    roots = np.flatnonzero(parent < 0)
    place = np.full(n, -1)
    place[roots] = np.arange(len(roots))
    tree = place[root]
    size = below[roots]
    deepest = np.zeros(len(roots), dtype=np.int64)
    np.maximum.at(deepest, tree, depth)
    width = int(depth.max(initial=0)) + 1
    cells, counts = np.unique(tree * width + depth, return_counts=True)
    breadth = np.zeros(len(roots), dtype=np.int64)
    np.maximum.at(breadth, cells // width, counts)
    pairs = np.bincount(tree, weights=below * (size[tree] - below).astype(np.float64), minlength=len(roots))
    virality = np.where(size > 1, 2.0 * pairs / np.maximum(1, size * (size - 1)), 0.0)
    return Cascades(roots, size, deepest, breadth, virality)
