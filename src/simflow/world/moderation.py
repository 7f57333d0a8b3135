"""Reports on what was written, and what the platform does about them."""

from __future__ import annotations

import numpy as np

from simflow.world.draws import Ints
from simflow.world.posts import AUTHOR, ID, REPORTS, ROOT, TOPIC, WORDS
from simflow.world.reactions import HIDDEN
from simflow.world.society import Society
from simflow.world.writing import Desk, key


def count(desk: Desk, limit: int) -> None:
    """Add a tick's reports to every copy of the reported words, and log what is hidden from now on."""
    words, reporter = desk.reported
    if not len(words):
        return
    society, posts = desk.society, desk.society.posts
    reported, entry = np.unique(words, return_inverse=True)
    copies = np.flatnonzero(np.isin(posts.column(WORDS), reported))
    which = np.searchsorted(reported, posts.column(WORDS)[copies])
    if len(society.replicate):  # keys of words are the same in all replicates
        entry = entry + society.replicate[reporter] * len(reported)
        which = which + society.replicate[posts.column(AUTHOR)[copies]] * len(reported)
    reports = np.bincount(entry, minlength=int(which.max()) + 1)[which]
    before = posts.column(REPORTS)[copies]
    posts.column(REPORTS)[copies] = before + reports
    crossed = (before < limit) & (before + reports >= limit)
    # The oldest copy that can still be read stands for the words: the post itself, unless it is gone.
    first = np.unique(which[crossed], return_index=True)[1]
    _log(desk, desk.society, np.sort(copies[crossed][first]))


def _log(desk: Desk, society: Society, rows: Ints) -> None:
    post = society.posts.table[rows]
    author = post[:, AUTHOR]
    order = np.argsort(author, kind="stable")
    post, author = post[order], author[order]
    turn = np.arange(len(author)) - np.searchsorted(author, author)
    local = society.local[author] if len(society.local) else author
    desk.log.deeds.add(
        len(author),
        id=key(local, desk.tick, HIDDEN, turn),
        tick=desk.tick,
        kind=HIDDEN,
        actor=author,
        parent=post[:, ID],
        root=post[:, ROOT],
        target=-1,
        topic=post[:, TOPIC],
        event=0,
    )
