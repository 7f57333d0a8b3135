"""A window at a glance, in Markdown: the stance curve by persona and the liveliest thread."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    from simflow.store import RunData

BARS = "▁▂▃▄▅▆▇█"
LINES, CUT = 5, 160


def preview(run: RunData, number: int) -> str | None:
    """Markdown for the end of window `number`; None where there is nothing to show."""
    parts = [part for part in (_curves(run, number), _thread(run, number)) if part]
    return "\n\n".join(parts) or None


def curve(values: list[float | None]) -> str:
    """Stances from -1 to 1 as bars; a dot where none is known."""
    return "".join("·" if v is None else BARS[min(int((v + 1) / 2 * len(BARS)), len(BARS) - 1)] for v in values)


def _curves(run: RunData, number: int) -> str | None:
    from simflow.memory.beliefs import present  # noqa: PLC0415 - the engine's room

    agents = run.agents()
    persona = dict(zip(agents["agent"].to_pylist(), agents["persona"].to_pylist(), strict=True))
    series: dict[tuple[str, str], list[float | None]] = {}
    for i, window in enumerate(run.windows[: number + 1]):
        edges = present(run.table("edges", until=window.stop))
        standing = edges.filter(pc.and_(pc.is_null(edges["valid_to"]), pc.is_valid(edges["on_topic"])))
        values: dict[tuple[str, str], list[float]] = {}
        for row in standing.select(["of", "on_topic", "value"]).to_pylist():
            values.setdefault((row["on_topic"], persona.get(row["of"]) or "everybody"), []).append(row["value"])
        for key, found in values.items():
            series.setdefault(key, [None] * i).append(float(np.mean(found)))
        for line in series.values():
            line.extend([None] * (i + 1 - len(line)))
    if not series:
        return None
    rows = [
        f"| {topic} | {who} | `{curve(line)}` | {_signed(line[0])} | {_signed(line[-1])} |" for (topic, who), line in sorted(series.items())
    ]
    head = "| topic | persona | stance by window | first | now |\n|---|---|---|---|---|"
    return f"**Stance, as the memory believes it** (low bars against, high bars for)\n\n{head}\n" + "\n".join(rows)


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"


def _thread(run: RunData, number: int) -> str | None:
    window = run.window(number).table("episodes")
    talk = window.filter(pc.and_(pc.is_valid(window["root"]), pc.is_valid(window["text"])))
    sizes = Counter(talk["root"].to_pylist())
    if not sizes:
        return None
    most = max(sizes.values())
    root = min(r for r, size in sizes.items() if size == most)
    rows = talk.filter(pc.equal(talk["root"], root)).to_pylist()
    lines = [f"> tick {row['tick']}: {_plain(row['sentence'])}  " for row in rows[:LINES]]
    more = f"\n\n… and {len(rows) - LINES} more" if len(rows) > LINES else ""
    return f"**The liveliest thread of the window** ({most} episodes)\n\n" + "\n".join(lines) + more


def _plain(text: str) -> str:
    # Texts are data: nothing in them may become a link, an image or markup in the catalogue.
    cut = text if len(text) <= CUT else text[: CUT - 1] + "…"
    return "".join(f"\\{c}" if c in "\\`*_{}[]()<>#+-!|&" else c for c in " ".join(cut.split()))
