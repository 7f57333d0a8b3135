"""An explanation as a picture: what was in force over time, with each statement as a dot on it. Plain SVG, written by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from html import escape

from simflow.memory.explain import Explanation, Held, Source, counted

_WIDTH, _HEIGHT = 960, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 150, 24, 64, 52
_COLOURS = {-1: "#c2410c", 0: "#6b7280", 1: "#0f766e"}


def svg(explanation: Explanation, end: int | None = None) -> str:
    """The picture as an SVG document.

    end: last tick of the axis (None: the tick asked about, or the newest evidence). Text from episodes is escaped.
    """
    sources = [s for held in explanation.edges for s in held.evidence] + list(explanation.outvoted)
    ticks = [int(s.episode.get("tick", 0)) for s in sources]
    first = min([*ticks, explanation.as_of])
    last = max([*ticks, explanation.as_of, end or 0])
    span = max(last - first, 1)

    def x(tick: float) -> float:
        return _LEFT + (tick - first) / span * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (1 - value) / 2 * (_HEIGHT - _TOP - _BOTTOM)

    body: list[str] = []
    for value, name in zip((-1, 0, 1), explanation.scale, strict=True):
        body.append(f'<line x1="{_LEFT}" y1="{y(value):.1f}" x2="{_WIDTH - _RIGHT}" y2="{y(value):.1f}" stroke="#d1d5db"/>')
        body.append(f'<text x="{_LEFT - 10}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{_COLOURS[value]}">{escape(name)}</text>')
    body += [
        f'<text x="{x(tick):.1f}" y="{_HEIGHT - 28}" text-anchor="middle" fill="#6b7280">{tick}</text>' for tick in _marks(first, last)
    ]
    body.append(f'<text x="{_LEFT - 10}" y="{_HEIGHT - 28}" text-anchor="end" fill="#6b7280">tick</text>')
    body += _bands(explanation.edges, last, x, y)
    asked = x(explanation.as_of)
    # Near an edge of the picture the words lean inwards.
    anchor = "end" if asked > _WIDTH - 80 else "start" if asked < _LEFT + 60 else "middle"
    body.append(
        f'<line x1="{asked:.1f}" y1="{_TOP - 10}" x2="{asked:.1f}" y2="{_HEIGHT - _BOTTOM + 8}" stroke="#111827" stroke-dasharray="4 3"/>'
    )
    body.append(f'<text x="{asked:.1f}" y="{_TOP - 14}" text-anchor="{anchor}" fill="#111827">asked at tick {explanation.as_of}</text>')
    body += [_dot(source, x(int(source.episode.get("tick", 0))), y(source.value)) for source in sources]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="system-ui, sans-serif" font-size="12" role="img">',
            f"<title>{escape(explanation.belief)}</title>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
            f'<text x="20" y="26" font-size="{_size(explanation.belief):.1f}" fill="#111827">{escape(explanation.belief)}</text>',
            *body,
            f'<text x="20" y="{_HEIGHT - 8}" fill="#6b7280">bars: what was in force · dots: statements, larger is surer · rings: outvoted · hover a dot to read it</text>',
            "</svg>",
            "",
        )
    )


def _bands(edges: Iterable[Held], last: int, x: object, y: object) -> list[str]:
    assert callable(x)
    assert callable(y)
    shown = sorted((h for h in edges if h.status != "retracted"), key=lambda h: h.valid_from)
    found = [
        f'<line x1="{x(b.valid_from):.1f}" y1="{y(a.value):.1f}" x2="{x(b.valid_from):.1f}" y2="{y(b.value):.1f}" stroke="#d1d5db" stroke-width="2"/>'
        for a, b in itertools.pairwise(shown)
    ]
    for held in edges:
        stop = last if held.valid_to is None else held.valid_to
        if held.status == "retracted" or stop < held.valid_from:
            continue
        sign = (held.value > 0) - (held.value < 0)
        faded = "0.25" if held.status == "later" else "0.5"
        width = max(x(stop) - x(held.valid_from), 2)
        found.append(
            f'<rect x="{x(held.valid_from):.1f}" y="{y(held.value) - 5:.1f}" width="{width:.1f}" height="10" rx="3" '
            f'fill="{_COLOURS[sign]}" fill-opacity="{faded}"><title>{escape(held.says)}: tick {held.valid_from} to '
            f"{'now' if held.valid_to is None else held.valid_to}, {counted(held.count, 'statement')}</title></rect>"
        )
    return found


def _dot(source: Source, x: float, y: float) -> str:
    sign = 1 if source.value > 0 else -1 if source.value < 0 else 0
    fill = "#ffffff" if source.role == "outvoted" else _COLOURS[sign]
    words = f"{source.episode.get('episode')} at tick {source.episode.get('tick')}: {source.episode.get('sentence', '')}"
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2.5 + 3.5 * source.confidence:.1f}" fill="{fill}" stroke="{_COLOURS[sign]}" '
        f'stroke-width="1.5"><title>{escape(words)} (confidence {source.confidence:.2f})</title></circle>'
    )


def _marks(first: int, last: int) -> list[int]:
    step = next((s for k in range(9) for s in (10**k, 2 * 10**k, 5 * 10**k) if (last - first) / s <= 8), 1)
    return list(range(-(-first // step) * step, last + 1, step))


def _size(title: str) -> float:
    # A letter is about six tenths as wide as it is high: a long sentence is written smaller, so that it ends within the picture.
    return min(15.0, (_WIDTH - 40) / (0.6 * max(len(title), 1)))
