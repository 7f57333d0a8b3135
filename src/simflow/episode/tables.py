"""The tables of a window, as Arrow schemas: the contract between engines, memory, store, dbt and the readers."""

from __future__ import annotations

import pyarrow as pa

TEXT_KINDS = ("post", "reply", "repost", "quote", "message", "group")
"""Kinds of episode that carry words: they are embedded and read by an extractor. The others are structure."""


def _schema(*columns: tuple[str, pa.DataType, bool, str]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=null, metadata={"about": about}) for name, kind, null, about in columns])


AGENTS = _schema(
    ("agent", pa.int32(), False, "index of the resident or voice; the key everywhere"),
    ("id", pa.string(), False, "readable id, unique in the run, used in sentences as @id"),
    ("name", pa.string(), False, "display name, need not be unique"),
    ("persona", pa.string(), True, "kind of resident; null for voices and for actors of a replayed trace"),
    ("is_voice", pa.bool_(), False, "acts only through events"),
    ("joined", pa.int32(), False, "first tick at which the agent exists"),
    ("about", pa.string(), True, "one line on who it is"),
    ("traits", pa.string(), True, "traits as a JSON object"),
)

EPISODES = _schema(
    ("episode", pa.int64(), False, "content key, never a counter; unique in the run"),
    ("tick", pa.int32(), False, "when it happened"),
    ("ordinal", pa.int32(), False, "order within the tick"),
    ("actor", pa.int32(), False, "agent that acted"),
    (
        "kind",
        pa.string(),
        False,
        "post, reply, repost, quote, like, dislike, report, follow, unfollow, mute, message, group, search, trend, join, ...",
    ),
    ("parent", pa.int64(), True, "episode that it answers, shares or reacts to"),
    ("root", pa.int64(), True, "first episode of the thread; itself for a post"),
    ("target", pa.int32(), True, "agent that it is aimed at"),
    ("text", pa.string(), True, "what was written; data, never instructions"),
    ("sentence", pa.string(), False, "the rendered sentence, the unit that is embedded and recalled"),
    ("event", pa.string(), True, "name of the scenario event that caused it"),
    ("source", pa.string(), True, "original id in a replayed trace"),
    ("ts", pa.string(), True, "original time in a replayed trace, ISO 8601"),
    ("lang", pa.string(), True, "language code, where known"),
    ("topic", pa.string(), True, "topic that a recorded trace says it is on (`replay.topic_by`); null where only its words tell"),
)

EXPOSURES = _schema(
    ("tick", pa.int32(), False, "when it was shown"),
    ("reader", pa.int32(), False, "agent that saw it"),
    ("episode", pa.int64(), False, "what was shown"),
    ("rank", pa.int16(), False, "place in the feed, from 0"),
)

TURNS = _schema(
    ("tick", pa.int32(), False, "when the agent acted"),
    ("agent", pa.int32(), False, "who acted"),
    ("situation", pa.string(), True, "what the turn was about; the query of its recall"),
    ("block", pa.string(), True, "the memory block that it was given"),
    ("block_tokens", pa.int32(), True, "tokens of that block"),
    ("tokens_in", pa.int32(), True, "prompt tokens"),
    ("tokens_out", pa.int32(), True, "completion tokens"),
    ("outcome", pa.string(), False, "what it did, or why it did nothing"),
)

CLAIMS = _schema(
    ("claim", pa.int64(), False, "content key"),
    ("kind", pa.string(), False, "relation kind, as declared in extract.relations"),
    ("of", pa.int32(), False, "agent that holds the relation"),
    ("on_agent", pa.int32(), True, "agent it is towards, if it is towards an agent"),
    ("on_topic", pa.string(), True, "topic it is towards, if it is towards a topic"),
    ("about", pa.string(), True, "topic that it is about"),
    ("value", pa.float32(), False, "sign and strength, -1..1"),
    ("confidence", pa.float32(), False, "0..1, the extractor's own"),
    ("tick", pa.int32(), False, "when the evidence happened"),
    ("learnt", pa.int32(), False, "tick of the batch that extracted it"),
    ("episode", pa.int64(), False, "the evidence"),
    ("quote", pa.string(), True, "the words it rests on, a substring of the episode's text"),
    ("extractor", pa.string(), False, "what extracted it: an extractor's id or `rule`"),
)

EDGES = _schema(
    ("edge", pa.int64(), False, "identity of a belief while it lasts; the same over its versions"),
    ("version", pa.int32(), False, "append-only: the highest version of an edge is its present state"),
    ("kind", pa.string(), False, "relation kind"),
    ("of", pa.int32(), False, "agent that holds it"),
    ("on_agent", pa.int32(), True, "agent it is towards"),
    ("on_topic", pa.string(), True, "topic it is towards"),
    ("about", pa.string(), True, "topic that it is about"),
    ("value", pa.float32(), False, "sign and strength, -1..1"),
    ("weight", pa.float32(), False, "decayed, confidence-weighted evidence behind it at `learnt`"),
    ("evidence", pa.list_(pa.int64()), False, "episodes that it rests on, oldest first"),
    ("count", pa.int32(), False, "statements that support it"),
    ("valid_from", pa.int32(), False, "tick from which it is in force"),
    ("valid_to", pa.int32(), True, "tick at which another replaced it; null while in force"),
    ("superseded_by", pa.int64(), True, "the edge that replaced it"),
    ("last_seen", pa.int32(), False, "tick of the newest supporting statement"),
    ("learnt", pa.int32(), False, "tick at which the memory had learnt this version"),
)

PERSONAS = _schema(
    ("agent", pa.int32(), False, "whose state it is"),
    ("tick", pa.int32(), False, "as of"),
    ("text", pa.string(), False, "mood, goals, stance, within its cap"),
    ("tokens", pa.int32(), False, "tokens of the text"),
    ("evidence", pa.list_(pa.int64()), False, "episodes that it rests on"),
)

TRUTH: dict[str, pa.Schema] = {
    "impacts": _schema(
        ("tick", pa.int32(), False, "when"),
        ("reader", pa.int32(), False, "who was moved"),
        ("episode", pa.int64(), False, "by what"),
        ("author", pa.int32(), False, "by whom"),
        ("topic", pa.int16(), False, "index of the topic"),
        ("contribution", pa.int64(), False, "signed change of stance in units of 2**-32"),
        ("reaction", pa.string(), True, "what the reader did"),
    ),
    "stances": _schema(
        ("tick", pa.int32(), False, "the row is valid from the end of this tick until the next row of the agent and topic"),
        ("agent", pa.int32(), False, "whose"),
        ("topic", pa.int16(), False, "index of the topic"),
        ("stance", pa.int64(), False, "in units of 2**-32"),
        ("contributions", pa.int64(), False, "sum of the contributions of this tick"),
        ("self_term", pa.int64(), False, "pull to the anchor and nudges"),
        ("clip", pa.int64(), False, "what the bounds took away"),
    ),
    "statements": _schema(
        ("episode", pa.int64(), False, "a text episode"),
        ("topic", pa.int16(), False, "index of its topic"),
        ("stance", pa.float32(), False, "stance that it expresses"),
        ("argument", pa.int16(), True, "argument used"),
        ("side", pa.int8(), True, "+1 pro, -1 con, 0 none"),
    ),
    "relations": _schema(
        ("tick", pa.int32(), False, "when"),
        ("actor", pa.int32(), False, "who"),
        ("target", pa.int32(), False, "towards whom"),
        ("topic", pa.int16(), True, "about what"),
        ("label", pa.int8(), False, "+1 agree, 0 mixed, -1 disagree"),
        ("episode", pa.int64(), False, "the act"),
    ),
}
"""What an engine knows and the pipeline may not: kept in `truth/` beside the window; only evaluation and measures read it."""

TABLES: dict[str, pa.Schema] = {
    "agents": AGENTS,
    "episodes": EPISODES,
    "exposures": EXPOSURES,
    "turns": TURNS,
    "claims": CLAIMS,
    "edges": EDGES,
    "personas": PERSONAS,
}


def vectors_schema(dimension: int) -> pa.Schema:
    """`vectors`: one row for each episode of a text kind, unit length, `dimension` floats."""
    return pa.schema(
        [pa.field("episode", pa.int64(), nullable=False), pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False)]
    )


def empty(schema: pa.Schema) -> pa.Table:
    """A table without rows."""
    return schema.empty_table()


def label(episode: int) -> str:
    """How an episode id is shown to people: `e` and hex digits."""
    return f"e{episode:x}"
