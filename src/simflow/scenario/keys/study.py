"""Keys about the study: experiment, questions, checks, patterns, limits."""

from __future__ import annotations

from simflow.features import KINDS, MEASURES, TABLES
from simflow.scenario.kinds import Amount, Fields, Flag, Key, Kind, ListOf, MapOf, Number, OneOf, Section, Share, Text, When, Whole
from simflow.scenario.kinds import Reader as _Reader
from simflow.scenario.nodes import Items, Node, Table


class _Anything(Kind):
    """A value that is checked where it is applied."""

    says = "a value"

    def read(self, node: Node, reader: _Reader) -> Node:
        """The node itself."""
        del reader
        return node

    def schema(self) -> dict[str, object]:
        """Whatever stands there."""
        return {}


class _Changes(_Anything):
    """Changes to the scenario, by dotted key."""

    says = "a map of changes such as `events.announcement.post: ...`"

    def read(self, node: Node, reader: _Reader) -> Node:
        """The map."""
        return node if isinstance(node, Table) else self.wrong(node, reader, "write {} for a variant that changes nothing")  # type: ignore[return-value]

    def schema(self) -> dict[str, object]:
        """A map."""
        return {"type": "object"}


class _Values(_Anything):
    """Values that a key takes in turn."""

    says = "a list of values"

    def read(self, node: Node, reader: _Reader) -> Node:
        """The list."""
        if isinstance(node, Items) and node.items:
            return node
        return self.wrong(node, reader, "write the values as a list: [0.0, 0.4, 0.8]")  # type: ignore[return-value]

    def schema(self) -> dict[str, object]:
        """A list."""
        return {"type": "array", "minItems": 1}


EXPERIMENT = Fields(
    "experiment",
    (
        Key("seed", Whole(0, 2**62), "Seed of the first repetition; the next ones count up.", "7", "seed", ("world: every draw",), "1"),
        Key("repeats", Whole(1, 100_000), "Repetitions, each with its own seed.", "5", "seed", ("plan: cells",), "1"),
        Key(
            "variants",
            MapOf(_Changes(), "variants"),
            "Named changes of this scenario, by dotted key; each is a run of its own. `null` removes.",
            "{price: {}, leaks: {events.announcement.post: We lose a third of our water.}}",
            "variant",
            ("plan: cells",),
            "one, called base",
        ),
        Key(
            "sweep",
            MapOf(_Values(), "keys"),
            "Values that a key takes in turn; several keys give each combination.",
            "{network.homophily.strength: [0.0, 0.4, 0.8]}",
            "sweep",
            ("plan: cells",),
        ),
    ),
)

ASK = Fields(
    "a question",
    (
        Key("who", ListOf(Text()), "A persona, or residents by id.", "pensioner", "ask.persona", ("ask",), "everybody"),
        Key("at", When(end=True), "When it is put.", "end", "ask.at", ("ask",), "end"),
        Key("question", Text(), "The question.", "Would you accept the new bill, and why?", "ask.question", ("ask",), required=True),
    ),
    short="question",
)

_CHECK = ("run: checks",)


def _kinds(to: str) -> dict[str, Fields]:
    """What can be checked. to: the plan value that the keys set."""

    def key(name: str, kind: Kind, doc: str, example: str, default: str = "", *, required: bool = False) -> Key:
        return Key(name, kind, doc, example, to, _CHECK, default, required=required)

    topic = key("topic", Text(), "The topic; may be left out if there is one only.", "water tariff")
    persona = key("persona", Text(), "Residents of this persona only.", "pensioner")
    name = key("name", OneOf(MEASURES, "measures"), "A measure's name; docs/science.md has their formulas.", "variance", required=True)
    at = key("at", When(end=True), "When it is taken.", "end", "end")
    between = key("between", ListOf(Number(-1e9, 1e9), exactly=2), "Lowest and highest value that is fine.", "[5%, 95%]")
    least = key("at_least", Number(-1e9, 1e9), "Lowest value that is fine.", "95%")
    most = key("at_most", Number(-1e9, 1e9), "Highest value that is fine.", "0.4")
    if to == "patterns":
        value = key("value", Number(-1e9, 1e9), "What was observed.", "0.31", required=True)
        tolerance = key("tolerance", Number(0.0, 1e9), "How far off still counts as reproduced.", "0.05", required=True)
        return {"measure": Fields("measure", (name, topic, persona, value, tolerance, at))}
    by = key("by", When(end=True), "By when.", "100", "end")
    seen = key("at_least", Share(), "Part of the residents that saw a post on it.", "95%", "100%")
    verb = key("stance", Text(), "One of the three verbs of the topic's scale.", "opposes", required=True)
    kind = key("kind", OneOf(KINDS, "kinds of episode"), "Kind of episode; all if left out.", "reply")
    return {
        "covered": Fields("covered", (topic, by, seen)),
        "share": Fields("share", (topic, verb, persona, between, least, most)),
        "measure": Fields("measure", (name, topic, persona, between, least, most, at)),
        "episodes": Fields("episodes", (kind, between, least, most)),
        "lost_turns": Fields("lost_turns", (persona, between, least, most)),
    }


CHECKS = _kinds("checks")
PATTERNS = _kinds("patterns")


_SAYS = {
    "checks.covered": ("How many residents have seen a post on a topic.", "{by: 100, at_least: 95%}"),
    "checks.share": ("How many residents hold a stance at the end.", "{stance: opposes, at_most: 60%}"),
    "checks.measure": ("A measure of the society.", "{name: variance, at_most: 0.4}"),
    "checks.episodes": ("How many episodes there are, of a kind or in all.", "{kind: reply, at_least: 10}"),
    "checks.lost_turns": (
        "Part of the turns of residents that a model speaks for which came to nothing: refused, cut short, not possible, without an answer.",
        "{at_most: 10%}",
    ),
    "patterns.measure": ("A measure of the society, as it was observed.", "{name: variance, value: 0.31, tolerance: 0.05}"),
}


class Single(Fields):
    """A map with exactly one key, which says what is checked."""

    def __init__(self, title: str, kinds: dict[str, Fields]) -> None:
        to = title.rsplit(" ", 1)[-1] + "s"
        keys = tuple(Key(name, kind, *_SAYS[f"{to}.{name}"], to, _CHECK) for name, kind in kinds.items())
        super().__init__(title, keys, check=_single)


def _single(section: Section, reader: _Reader) -> None:
    node = section.node
    if len(node.entries) != 1:
        reader.add(
            "SF413", f"one check a line; this has {len(node.entries)} keys", node.span, "write `- covered: {topic: ..., at_least: 95%}`"
        )


CHECK_LIST = ListOf(Single("a check", CHECKS))
PATTERN_LIST = ListOf(Single("a pattern", PATTERNS))
ASKS = MapOf(ASK, "questions")

LIMITS = Fields(
    "limits",
    (
        Key("tokens", Amount(), "Tokens of models.", "5M", "limits.tokens", ("run: limits",)),
        Key("cost", Amount(), "Money, in US dollars.", "20", "limits.cost", ("run: limits",)),
        Key("hours", Amount(), "Hours of a run.", "8", "limits.hours", ("run: limits",)),
    ),
)

_OUTPUTS = ("run: outputs",)
OUTPUTS = Fields(
    "outputs",
    (
        Key(
            "tables",
            ListOf(OneOf(TABLES, "tables")),
            "Tables to write; docs/tables.md says what is in them.",
            "[episodes, measures]",
            "outputs.tables",
            _OUTPUTS,
            "none",
        ),
        Key("format", OneOf(("csv", "parquet"), "formats"), "What the tables are written as.", "csv", "outputs.format", _OUTPUTS, "csv"),
        Key("report", Flag(), "Whether a page in Markdown says what happened.", "true", "outputs.report", _OUTPUTS, "true"),
        Key(
            "folder",
            Text(),
            "Where they go, relative to the project; below it, a folder for each scenario and cell.",
            "results",
            "outputs.folder",
            _OUTPUTS,
            "outputs",
        ),
    ),
    short="tables",
)
__all__ = ["ASKS", "CHECKS", "CHECK_LIST", "EXPERIMENT", "LIMITS", "OUTPUTS", "PATTERNS", "PATTERN_LIST", "Single"]
