"""The extractor that `models: {extractor: llm}` names: cheap readings first, the model for the rest, an audit of the cheap ones.

Structured episodes never come here: they are relations by rule. Of the texts: (1) exact repeats are read once; (2) the built-in extractor
reads each; what it finds with confidence `extract.accept` or more, and what contradicts no belief that is held, stands; (3) the model reads
the rest, and (4) a random share `extract.audit` of (2), which yields an error rate with its interval. (5) Where all of the interval lies above
`TOLERATED`, the batch at hand is read again more strictly: cheap readings below a raised confidence go to the model too. Each batch is judged by
its own sample, so that results do not depend on what a process did before.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from simflow.errors import BadInput, EndpointRefused
from simflow.llm.evenness import at_least
from simflow.llm.extractor import ModelExtractor
from simflow.llm.room import Room
from simflow.plan import Cell
from simflow.ports import Embedder, Extraction, Extractor, Finding, Passage, Usage

OPPOSED = 0.25
"""Values of opposite sign beyond this count as a contradiction."""
FEWEST = 10
"""Texts of which none could be read, from which on it is the model that cannot, not the texts."""
TOLERATED = 0.05
"""Error rate of cheap readings that is put up with: where an audit's interval lies above it, more confidence is asked for."""


class Cascade:
    """Offers Extractor and Remote. `cheap`: the extractor asked first, by default the built-in one; `model`: the one that costs."""

    def __init__(
        self,
        cell: Cell,
        embedder: Embedder,
        *,
        room: Room | None = None,
        cheap: Extractor | None = None,
        model: ModelExtractor | None = None,
    ) -> None:
        self.cell = cell
        self.room = room or Room.of(cell)
        self.cheap = cheap or _builtin(cell, embedder)
        self.model = model or ModelExtractor(cell, self.room)
        self.agent_kinds = frozenset(k.name for k in cell.extract.relations if k.on == "agent" and k.name != "influence")
        self.counts: Counter[str] = Counter()

    @property
    def id(self) -> str:
        """Of both extractors, since both shape the result."""
        return f"cascade({self.cheap.id}, {self.model.id})@1"

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """Find relations; what is said in `Cascade` about who reads what. Raises EndpointFailed or LimitReached, nothing lost."""
        groups = _alike(batch)
        firsts = [group[0] for group in groups]
        self.counts["texts"] += len(batch)
        self.counts["repeats"] += len(batch) - len(firsts)
        accepted, hard, audited = self._sorted(firsts)
        self.counts["by_builtin"] += len(accepted)
        self.counts["by_model"] += len(hard)
        asked = self.model.extract([*hard, *audited]) if hard or audited else Extraction((), ())
        _answered_at_all(asked)
        answered = _by_episode(asked.findings)
        wrong = self._audit(audited, accepted, answered, asked)
        doubted = self._doubted(accepted, wrong)
        again = (
            self.model.extract([p for p in firsts if p.episode in doubted and p.episode not in wrong]) if doubted else Extraction((), ())
        )
        answered |= _by_episode(again.findings)
        unread = {**asked.failed, **again.failed}
        for episode in doubted:
            del accepted[episode]
        findings: list[Finding] = []
        nothing: list[int] = []
        failed: dict[int, str] = {}
        for group in groups:
            first = group[0]
            found = accepted.get(first.episode) or answered.get(first.episode, [])
            for passage in group:
                moved = _moved(found, first, passage)
                findings += moved
                if not found and first.episode in unread:
                    failed[passage.episode] = unread[first.episode]
                elif not moved:
                    nothing.append(passage.episode)
        return Extraction(tuple(findings), tuple(nothing), failed)

    def keep_in(self, home: Path) -> None:
        """Keep recordings and the account under `home`."""
        self.room.keep_in(home)

    def ready(self) -> None:
        """Raise BadInput if the model could not be asked."""
        self.room.ready()

    def usage(self) -> tuple[Usage, ...]:
        """What the cell has spent in this process."""
        return self.room.usage()

    def notes(self) -> Mapping[str, int | float | str]:
        """Since last asked: who read how much, what was repaired or parked, how many readings were audited and how many of these were wrong."""
        found: dict[str, int | float | str] = {**self.counts, **{f"model_{k}": v for k, v in self.model.notes().items()}}
        self.counts.clear()
        self.model.counts.clear()
        return found

    def _sorted(self, firsts: Sequence[Passage]) -> tuple[dict[int, list[Finding]], list[Passage], list[Passage]]:
        # (cheap readings that stand, passages for the model, those of the first that chance has audited)
        read = _by_episode(self.cheap.extract(firsts).findings)
        accepted = {p.episode: found for p in firsts if self._stands(p, found := read.get(p.episode, []))}
        audited = [p for p in firsts if p.episode in accepted and self._drawn(p)]
        return accepted, [p for p in firsts if p.episode not in accepted], audited

    def _stands(self, passage: Passage, found: Sequence[Finding]) -> bool:
        if not found or any(f.confidence < self.cell.extract.accept for f in found):
            return False
        kinds = {f.kind for f in found}
        if passage.target is not None and passage.target != passage.actor and self.agent_kinds and not kinds & self.agent_kinds:
            return False  # an answer to somebody, of whose attitude nothing was found: half a reading
        held = {(h.kind, h.on_agent, h.on_topic, h.about): h.value for h in passage.held}
        for f in found:
            before = held.get((f.kind, f.on_agent, f.on_topic, f.about), 0.0) if f.of == passage.actor else 0.0
            if before * f.value < 0 and min(abs(before), abs(f.value)) >= OPPOSED:
                self.counts["contradictions"] += 1
                return False
        return True

    def _drawn(self, passage: Passage) -> bool:
        # By content, not by counting, so that the sample does not depend on batches or windows.
        digest = hashlib.sha256(f"audit {self.cell.seed} {passage.episode}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < self.cell.extract.audit * 2**64

    def _audit(
        self,
        audited: Sequence[Passage],
        accepted: Mapping[int, Sequence[Finding]],
        answered: Mapping[int, Sequence[Finding]],
        asked: Extraction,
    ) -> dict[int, bool]:
        # By audited episode that the model could read: whether the cheap reading was wrong.
        found: dict[int, bool] = {}
        for passage in audited:
            if passage.episode in asked.failed:
                self.counts["audit_unanswered"] += 1
                continue
            said = {_key(f): _sign(f.value) for f in answered.get(passage.episode, ())}
            # To find "neither" and to find nothing are one and the same.
            found[passage.episode] = any(said.get(_key(f), 0) != _sign(f.value) for f in accepted[passage.episode])
        self.counts["audited"] += len(found)
        self.counts["audit_errors"] += sum(found.values())
        return found

    def _doubted(self, accepted: Mapping[int, Sequence[Finding]], wrong: Mapping[int, bool]) -> set[int]:
        # Episodes whose cheap reading the audit of this batch leaves no trust in: those below the least confidence at which it would pass.
        sure = {episode: min(f.confidence for f in found) for episode, found in accepted.items()}
        accept = self.cell.extract.accept
        for least in (accept, (1 + accept) / 2):
            sample = [bad for episode, bad in wrong.items() if sure[episode] >= least]
            if at_least(sum(sample), len(sample)) <= TOLERATED:
                break
        else:
            least = math.inf
        doubted = {episode for episode in accepted if sure[episode] < least}
        self.counts["audit_doubted"] += len(doubted)
        return doubted


def _answered_at_all(asked: Extraction) -> None:
    # A memory that is empty because a model cannot answer in the asked shape is no result; a passage here and there is parked.
    if len(asked.failed) >= FEWEST and not asked.findings and not asked.nothing:
        raise EndpointRefused(
            f"the model gave no usable answer about any of {len(asked.failed)} texts; the last: {list(asked.failed.values())[-1]}",
            hint="SIMFLOW_LLM_MODE=auto asks the endpoint what it can do; committed windows are kept",
        )


def _alike(batch: Sequence[Passage]) -> list[list[Passage]]:
    groups: dict[tuple[Any, ...], list[Passage]] = {}
    for passage in batch:
        groups.setdefault(_sameness(passage), []).append(passage)
    return list(groups.values())


def _sameness(passage: Passage) -> tuple[Any, ...]:
    # What decides a reading: words, what they answer, to whom they are addressed; not who says them, nor when. What somebody believed before
    # decides who reads, so those of different beliefs are kept apart.
    held = tuple(sorted((h.kind, h.on_topic or "", h.about or "", _sign(h.value)) for h in passage.held))
    to = None if passage.target is None else ("self" if passage.target == passage.actor else "other")
    people = tuple(agent for _, agent in passage.mentions if agent == passage.actor)
    return passage.kind, passage.text, passage.parent_text, passage.root_text, to, passage.lang, people, held


def _moved(found: Sequence[Finding], first: Passage, passage: Passage) -> list[Finding]:
    # The same words from somebody else: the holder becomes this author, the addressee this addressee; people named in the text stay.
    if first is passage:
        return list(found)
    swap = {first.actor: passage.actor}
    if first.target is not None and passage.target is not None:
        swap.setdefault(first.target, passage.target)
    moved = (
        dataclasses.replace(
            f, episode=passage.episode, of=swap.get(f.of, f.of), on_agent=None if f.on_agent is None else swap.get(f.on_agent, f.on_agent)
        )
        for f in found
    )
    return [f for f in moved if f.of != f.on_agent]


def _by_episode(findings: Sequence[Finding]) -> dict[int, list[Finding]]:
    found: dict[int, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.episode, []).append(finding)
    return found


def _key(finding: Finding) -> tuple[Any, ...]:
    return finding.kind, finding.of, finding.on_agent, finding.on_topic, finding.about


def _sign(value: float) -> int:
    return (value > OPPOSED) - (value < -OPPOSED)


def _builtin(cell: Cell, embedder: Embedder) -> Extractor:
    for entry in metadata.entry_points(group="simflow.extractors", name="builtin"):
        found: Extractor = entry.load()(cell, embedder)
        return found
    raise BadInput("the built-in extractor is not installed", hint="reinstall simflow: its entry points are missing")
