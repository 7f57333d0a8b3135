"""A run's committed windows, followed as `windows.json` grows: what was read is not read again, and little of it is kept."""

from __future__ import annotations

import codecs
import dataclasses
import json
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.errors import SimflowError
from simflow.runs import WindowRecord

KEEP = 512
"""Windows that are kept whole; of older ones only their place is."""

CHUNK = 1 << 18
MARK = 256
LONGEST = 1 << 24
"""Characters of a record beyond which the file is taken for broken."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a window is: its number, content key, the tick at which it ends, how many episodes it holds."""

    number: int
    key: str
    stop: int
    episodes: int


class Places:
    """Places of any number of windows in 56 bytes each. Grows at its end only, so that threads may read what is there."""

    def __init__(self) -> None:
        self._keys = bytearray()
        self._odd: dict[int, str] = {}
        self._figures = tuple(array("q") for _ in range(3))

    def add(self, window: WindowRecord) -> None:
        """Take in the next window."""
        at = len(self._figures[0])
        try:
            digest = bytes.fromhex(window.key)
        except ValueError:
            digest = b""
        if len(digest) != 32 or digest.hex() != window.key:
            digest, self._odd[at] = bytes(32), window.key
        self._keys += digest
        for values, value in zip(self._figures, (window.number, window.stop, int(window.rows.get("episodes", 0))), strict=True):
            values.append(max(-(1 << 63), min((1 << 63) - 1, value)))

    def __getitem__(self, at: int) -> Place:
        number, stop, episodes = (values[at] for values in self._figures)
        return Place(number, self._odd.get(at) or self._keys[32 * at : 32 * at + 32].hex(), stop, episodes)


@dataclass(frozen=True)
class Committed:
    """The windows at one moment. `recent`: the newest, whole; `seconds` by stage, `kinds` of episodes and `reused` are over all.

    `origin` changes when the windows are others, not only more.
    """

    total: int = 0
    recent: tuple[WindowRecord, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    reused: int = 0
    places: Places = field(default_factory=Places, compare=False, repr=False)
    origin: int = 0

    @property
    def stop(self) -> int:
        """The tick up to which the run is committed."""
        return self.recent[-1].stop if self.recent else 0

    @property
    def stamp(self) -> tuple[int, int, str]:
        """Differs where the windows differ."""
        return self.origin, self.total, self.recent[-1].key if self.recent else ""

    def window(self, number: int) -> WindowRecord | None:
        """The n-th window, if it is one of the recent ones."""
        at = number - (self.total - len(self.recent))
        return self.recent[at] if 0 <= at < len(self.recent) else None

    def since(self, number: int) -> Iterator[Place]:
        """Places of the windows from the n-th on."""
        return (self.places[i] for i in range(number, self.total))


class WindowsFile:
    """Follows one windows.json. The file is replaced whole at each commit; as long as it only grew, only its end is parsed."""

    def __init__(self, path: Path, keep: int = KEEP) -> None:
        self.path = path
        self.keep = keep
        self.now = Committed()
        self._stamp: object = None
        self._origin = 0
        self._begin()

    def _begin(self) -> None:
        self._origin += 1
        self._recent: deque[WindowRecord] = deque(maxlen=self.keep)
        self._places = Places()
        self._total = self._reused = self._offset = 0
        self._seconds: dict[str, float] = {}
        self._kinds: dict[str, int] = {}
        self._mark = b""

    def poll(self) -> Committed:
        """The windows as they are now; none where there is no file, those before a fault where it is broken."""
        try:
            seen = self.path.stat()
            stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
            if stamp == self._stamp:
                return self.now
            with self.path.open("rb") as file:
                file.seek(max(0, self._offset - len(self._mark)))
                if file.read(len(self._mark)) != self._mark:
                    self._begin()
                    file.seek(0)
                self._offset += self._parse(file)
                begin = max(0, self._offset - MARK)
                file.seek(begin)
                self._mark = file.read(self._offset - begin)
        except (OSError, SimflowError):
            self._stamp, self.now = None, Committed()
            self._begin()
            return self.now
        self._stamp = stamp
        self.now = Committed(
            self._total, tuple(self._recent), dict(self._seconds), dict(self._kinds), self._reused, self._places, self._origin
        )
        return self.now

    def _parse(self, file: Any) -> int:
        # Records one by one, so that a long file is never in memory as a whole; gives the bytes up to the last whole record.
        decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        scan = json.JSONDecoder().raw_decode
        text, at, done = "", 0, 0
        while True:
            piece = file.read(CHUNK)
            done += len(text[:at].encode("utf-8", "surrogateescape"))
            text, at = text[at:] + decode(piece, not piece), 0
            while True:
                begin = at
                while begin < len(text) and text[begin] in " \t\r\n,[":
                    begin += 1
                try:
                    row, end = scan(text, begin)
                except (ValueError, RecursionError):  # the rest of it comes with the next piece, or never
                    break
                if end == len(text) and piece:  # a number might go on
                    break
                at = end
                self._take(row)
            if not piece or len(text) - at > LONGEST:
                return done + len(text[:at].encode("utf-8", "surrogateescape"))

    def _take(self, row: object) -> None:
        window = window_of(row)
        if window is None:
            return
        self._total += 1
        self._reused += bool(window.reused)
        self._places.add(window)
        self._recent.append(window)
        for stage, spent in window.seconds.items():
            self._seconds[stage] = self._seconds.get(stage, 0.0) + spent
        for kind, count in window.kinds.items():
            self._kinds[kind] = self._kinds.get(kind, 0) + int(count)


KNOWN = frozenset(spec.name for spec in dataclasses.fields(WindowRecord))


def window_of(row: object) -> WindowRecord | None:
    """A record of the ledger whose fields can be used, counts and seconds as numbers; None where that cannot be."""
    if not isinstance(row, dict):
        return None
    try:
        window = WindowRecord(**{k: v for k, v in row.items() if k in KNOWN})
    except TypeError:
        return None
    if not all(type(v) is int and abs(v) < 1 << 62 for v in (window.number, window.start, window.stop)) or not isinstance(window.key, str):
        return None
    return dataclasses.replace(window, rows=_numbers(window.rows), seconds=_numbers(window.seconds), kinds=_numbers(window.kinds))


def _numbers(mapping: object) -> dict[str, Any]:
    items = mapping.items() if isinstance(mapping, Mapping) else ()
    return {str(k): v for k, v in items if isinstance(v, int | float) and abs(v) < 1e15}  # NaN and infinity are no counts
