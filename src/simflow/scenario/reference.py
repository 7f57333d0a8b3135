"""The reference of the language, made from the keys themselves: what each is, takes, defaults to, sets, and what reads it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simflow.errors import NotFound
from simflow.scenario.keys import ROOT, every_key
from simflow.scenario.kinds import Fields, Key, ListOf, MapOf, did_you_mean

Path = tuple[str, ...]

_INTRODUCTION = """\
# The scenario language

One YAML file is one study. This page is made from the code (`simflow schema --reference`), so it cannot be out of date.

- YAML 1.2 core rules: `18:00`, `on` and `no` are text; a key that is there twice, merge keys and tags are errors.
  All of YAML 1.2 is read (its test suite is part of `simflow bench language`) up to 100,000 characters; larger texts go through libyaml, which is
  faster and refuses some unusual notations: each with its place, none is taken for something else.
- `from:` starts from other files: maps merge, everything else replaces, `null` removes. `${name}` is filled from `vars:`.
- Distributions: `0.3`, `20..34`, `71 ± 6` (or `+-`), `{beta: [2, 8]}`, `{a: 60%, b: 40%}`.
- A distribution may depend on another trait of the same resident: `{given: age, ..34: 20..30, 35..64: 40 ± 8, else: 18 ± 3}`. Cases are
  words or numbers with both ends included; the first that fits counts; without `else` a number outside all cases takes the nearest.
- Times: ticks (`36`), lengths (`36h`, `10d`, `30min`, `2w`), `end`.
- `simflow validate` checks a scenario, `simflow schema --explain KEY` says what reads a key, `simflow explain-error CODE` explains an error.

"""


def find(dotted: str) -> tuple[Path, Key]:
    """The key that a dotted name means: `memory.episodes.half_life`, or `half_life` if only one key ends so.

    Raises NotFound with the nearest one.
    """
    keys = list(every_key())
    wanted = tuple(dotted.split("."))
    for path, key in keys:
        if len(path) == len(wanted) and all(p in {w, "*"} for p, w in zip(path, wanted, strict=True)):
            return path, key
    endings = [(path, key) for path, key in keys if path[-len(wanted) :] == wanted]
    if len(endings) == 1:
        return endings[0]
    if endings:
        raise NotFound(f"'{dotted}' is several keys", hint=", ".join(".".join(p) for p, _ in endings[:8]))
    raise NotFound(f"'{dotted}' is no key", hint=did_you_mean(dotted, [".".join(p) for p, _ in keys], "keys"))


def explain(dotted: str) -> str:
    """Everything about one key."""
    path, key = find(dotted)
    lines = [".".join(path), f"  {key.doc}", f"  takes     {key.kind.says}"]
    if key.default:
        lines.append(f"  default   {key.default}")
    if key.example:
        lines.append(f"  example   {key.name}: {key.example}")
    if key.to:
        lines.append(f"  sets      {key.to} in the plan")
    lines.append(f"  read by   {', '.join(key.reads)}")
    below = [k.name for k in _inside(key.kind)]
    if below:
        lines.append(f"  keys      {', '.join(below)}")
    return "\n".join(lines)


def _inside(kind: Any) -> Iterable[Key]:
    while isinstance(kind, MapOf | ListOf):
        kind = kind.item
    return kind.keys if isinstance(kind, Fields) else ()


def markdown() -> str:
    """The whole reference."""
    parts = [_INTRODUCTION, "## Top", "", *_table(ROOT.keys, ())]
    for path, key in every_key():
        inside = list(_inside(key.kind))
        if inside:
            depth = "##" if len(path) == 1 else "###"
            parts += [f"{depth} {'.'.join(path)}", "", key.doc, ""]
            if key.example:
                parts += ["```yaml", nested(path, key.example), "```", ""]
            parts += _table(inside, path)
    return "\n".join(parts).rstrip() + "\n"


def _table(keys: Iterable[Key], path: Path) -> list[str]:
    rows = ["| key | what | takes | default | example | read by |", "|---|---|---|---|---|---|"]
    for key in keys:
        cells = [f"`{key.name}`", key.doc, key.kind.says, key.default, f"`{key.example}`" if key.example else "", ", ".join(key.reads)]
        rows.append("| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |")
    del path
    return [*rows, ""]


def nested(path: Path, example: str) -> str:
    """An example at its place: `memory.episodes.top` and `8` give three lines."""
    names = ["demo" if p == "*" else p for p in path]
    return "\n".join(f"{'  ' * n}{name}:" for n, name in enumerate(names)) + f" {example}"
