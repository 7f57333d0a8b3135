"""Keys about what the scenario makes happen. An event has a name, a time and one verb."""

from __future__ import annotations

from simflow.scenario.keys.platform import feed
from simflow.scenario.kinds import Fields, Key, ListOf, MapOf, Number, OneOf, Section, Share, Text, When, Whole
from simflow.scenario.kinds import Reader as _Reader

VERBS = ("post", "broadcast", "nudge", "mute", "ban", "join", "leave", "feed", "agenda")
TRIGGERS = ("mean", "variance", "spread", "support", "opposition", "undecided", "posts")
"""Measures that an event can wait for: of stances on a topic, and `posts`, the number of posts in the tick before."""
_EVENTS = ("world: events",)

AUDIENCE = Fields(
    "an audience",
    (
        Key("personas", ListOf(Text()), "These personas only.", "[pensioner]", "events.to", _EVENTS),
        Key("agents", ListOf(Text()), "These residents only, by id.", "[rosa14]", "events.to", _EVENTS),
        Key("topic", Text(), "The topic whose stance counts.", "water tariff", "events.to", _EVENTS),
        Key("stance", ListOf(Number(-1.0, 1.0), exactly=2), "From and to which stance.", "[-1, -0.3]", "events.to", _EVENTS),
    ),
    short="personas",
)
_WHO = (
    Key("persona", Text(), "Which persona.", "shop owner", "events.to", _EVENTS),
    Key("agents", ListOf(Text()), "Which residents, by id.", "[rosa14]", "events.to", _EVENTS),
)
NUDGE = Fields(
    "a nudge",
    (
        *_WHO,
        Key("topic", Text(), "The topic; may be left out if there is one only.", "water tariff", "events.topic", _EVENTS),
        Key("by", Number(-2.0, 2.0), "How far the stance moves.", "-0.2", "events.amount", _EVENTS, required=True),
    ),
)
_SIZE = (
    Key("count", Whole(1, 10_000_000), "How many.", "20", "events.amount", _EVENTS),
    Key("share", Share(), "Which part of the persona.", "10%", "events.amount", _EVENTS),
)
JOIN = Fields(
    "who joins",
    (Key("persona", Text(), "Which persona.", "young renter", "events.persona", _EVENTS, required=True), *_SIZE),
    short="persona",
)
LEAVE = Fields("who leaves", (*_WHO, *_SIZE), short="persona")
AGENDA = Fields(
    "an agenda",
    (
        Key(
            "topic",
            Text(),
            "The topic that is talked about more or less; may be left out if there is one only.",
            "water tariff",
            "events.topic",
            _EVENTS,
        ),
        Key("times", Number(0.0, 1000.0), "How many times as often as before.", "3", "events.amount", _EVENTS, required=True),
    ),
)
TRIGGER = Fields(
    "a trigger",
    (
        Key("measure", OneOf(TRIGGERS, "measures"), "The measure that is watched.", "mean", "events.when", _EVENTS, required=True),
        Key("topic", Text(), "The topic that it is measured on.", "water tariff", "events.when", _EVENTS),
        Key("above", Number(-1e9, 1e9), "Fires when it is above this.", "0.4", "events.when", _EVENTS),
        Key("below", Number(-1e9, 1e9), "Fires when it is below this.", "-0.4", "events.when", _EVENTS),
    ),
)


def _one_verb(section: Section, reader: _Reader) -> None:
    verbs = [v for v in VERBS if v in section.node.entries]
    if len(verbs) > 1:
        span = section.key(verbs[1])
        reader.add("SF412", f"two verbs in one event: {' and '.join(verbs)}", span, "make it two events")
    elif not verbs and not any(v in section for v in VERBS):
        reader.add("SF412", "this event does nothing", section.node.span, f"give it one verb: {', '.join(VERBS)}")
    if "at" not in section.node.entries and "when" not in section.node.entries:
        reader.add("SF307", "an event needs 'at' or 'when'", section.node.span, "for example `at: 1d`")


EVENT = Fields(
    "an event",
    (
        Key("at", When(end=True), "When it happens; with `when`, the earliest time.", "1d", "events.at", _EVENTS),
        Key(
            "until",
            When(end=True),
            "When it ends: a mute, ban, feed or agenda is undone then, a repetition stops.",
            "30d",
            "events.until",
            _EVENTS,
        ),
        Key("every", When(), "Repeats after each of these spans, up to `until`.", "7d", "events.every", _EVENTS),
        Key(
            "when",
            TRIGGER,
            "Happens at the first tick at which a measure crosses a value.",
            "{measure: mean, topic: water tariff, below: -0.4}",
            "events.when",
            _EVENTS,
        ),
        Key("by", Text(), "Who posts: a voice or a resident's id; the newsroom if left out.", "city council", "events.by", _EVENTS),
        Key("post", Text(), "Verb: a post with this text.", "Bills rise by 18%.", "events.text", _EVENTS),
        Key("broadcast", Text(), "Verb: a post that everybody in `to` sees at once.", "Bills rise by 18%.", "events.text", _EVENTS),
        Key(
            "topic",
            Text(),
            "What the post is on.",
            "water tariff",
            "events.topic",
            _EVENTS,
            "the topic whose words the text has, else the first",
        ),
        Key(
            "stance",
            Number(-1.0, 1.0),
            "What the post says about it, -1 to 1; equations read this and no words.",
            "0.6",
            "events.stance",
            _EVENTS,
            "the stance of the voice, else 0",
        ),
        Key("to", AUDIENCE, "Whom a broadcast reaches.", "{personas: [pensioner]}", "events.to", _EVENTS, "everybody"),
        Key(
            "nudge",
            NUDGE,
            "Verb: moves stances directly.",
            "{persona: shop owner, topic: water tariff, by: -0.2}",
            "events.amount",
            _EVENTS,
        ),
        Key("mute", Text(), "Verb: nobody is shown posts of this account.", "leak watch", "events.target", _EVENTS),
        Key("ban", Text(), "Verb: this account cannot act and is not shown.", "leak watch", "events.target", _EVENTS),
        Key("join", JOIN, "Verb: residents appear.", "{persona: young renter, count: 20}", "events.amount", _EVENTS),
        Key("leave", LEAVE, "Verb: residents leave.", "{persona: young renter, share: 10%}", "events.amount", _EVENTS),
        Key("feed", feed("events.feed"), "Verb: the platform ranks feeds otherwise.", "{kind: chronological}", "events.feed", _EVENTS),
        Key("agenda", AGENDA, "Verb: a topic is talked about more or less.", "{topic: water tariff, times: 3}", "events.amount", _EVENTS),
    ),
    check=_one_verb,
)
EVENTS = MapOf(EVENT, "events")
