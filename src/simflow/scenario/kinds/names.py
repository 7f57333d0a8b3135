"""Names in messages: a value as it is shown, and the known name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from simflow.scenario.nodes import Items, Node, Scalar, is_null


def shown(node: Node) -> str:
    """A value in a message: the text of a scalar, or that it is a list or a map."""
    if isinstance(node, Scalar):
        if is_null(node):
            return "nothing"
        return f"'{node.text}'" if len(node.text) <= 40 else f"'{node.text[:39]}…'"
    return "a list" if isinstance(node, Items) else "a map"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    import difflib  # noqa: PLC0415 - only where something is wrong

    folded = {_folded(o): o for o in known}
    key = _folded(name[:100])
    if key in folded:
        return folded[key]
    close = difflib.get_close_matches(key, folded, 1, 0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """A hint: the nearest known name, or the known ones."""
    options = list(known)
    if close := nearest(name, options):
        return f"did you mean '{close}'?"
    if not options:
        return f"there are no {what} in this scenario"
    return f"{what}: {', '.join(options[:12])}{', …' if len(options) > 12 else ''}"


def _folded(name: str) -> str:
    return name.casefold().replace("_", " ").replace("-", " ").strip()
