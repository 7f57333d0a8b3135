"""Keys about the platform and time: actions, feeds, dynamics, language, clock."""

from __future__ import annotations

from simflow.scenario.kinds import Fields, Key, Kind, ListOf, MapOf, Number, OneOf, Share, Text, When, Whole

ACTIONS = (
    "post",
    "reply",
    "repost",
    "quote",
    "like",
    "dislike",
    "follow",
    "unfollow",
    "mute",
    "report",
    "group",
    "message",
    "search",
    "trend",
)
SHORTHANDS: dict[str, tuple[str, ...]] = {"react": ("like", "dislike")}
"""Words for several actions at once."""
PARTS_OF_DAY: dict[str, range] = {"night": range(6), "morning": range(6, 10), "day": range(10, 18), "evening": range(18, 24)}
"""Hours of each part of the day."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def feed(to: str) -> Fields:
    """The keys of a feed. to: the plan value that they set."""

    def weight(name: str, doc: str, example: str, default: str) -> Key:
        return Key(name, Number(0.0, 100.0), doc, example, f"{to}.{name}", ("world: feed",), default)

    return Fields(
        "a feed",
        (
            Key(
                "kind",
                OneOf(("mix", "chronological", "hot", "interest", "follow_first"), "feeds"),
                "How posts are ranked; `mix` weighs the terms below.",
                "chronological",
                f"{to}.kind",
                ("world: feed",),
                "mix",
            ),
            Key("posts", Whole(1, 1000), "Posts shown in one session.", "12", f"{to}.posts", ("world: feed",), "5"),
            weight("recency", "Weight of newer posts.", "0.5", "0.4"),
            weight("popularity", "Weight of liked and reposted posts.", "0.3", "0.3"),
            weight("affinity", "Weight of posts on the reader's interests and near the reader's stance.", "0.2", "0.3"),
            weight("follow", "Weight of posts by followed accounts.", "0.3", "0.3"),
            Key(
                "similarity",
                Share(),
                "Within affinity: nearness of stance against interest in the topic.",
                "0.5",
                f"{to}.similarity",
                ("world: feed",),
                "0.5",
            ),
            Key("explore", Share(), "Part of the feed from anywhere.", "20%", f"{to}.explore", ("world: feed",), "20%"),
            Key("noise", Number(0.0, 10.0), "Randomness of the ranking.", "0.15", f"{to}.noise", ("world: feed",), "0.15"),
            Key("horizon", When(), "Age after which a post is no longer shown.", "6d", f"{to}.horizon", ("world: feed",), "144 ticks"),
            Key("fade", When(), "Age at which recency has halved.", "8h", f"{to}.fade", ("world: feed",), "4h"),
        ),
        short="kind",
    )


_RATES = {
    "post": ("a session brings a post, on average", "23%"),
    "reply": ("a post shown is answered, at most", "14%"),
    "repost": ("a post shown is shared, at most", "8%"),
    "quote": ("a post shown is quoted, at most", "4%"),
    "like": ("a post shown is liked, at most", "30%"),
    "dislike": ("a post shown is disliked, at most", "30%"),
    "follow": ("a like or repost is followed by a follow", "6%"),
    "unfollow": ("a dislike is followed by an unfollow", "10%"),
    "mute": ("a dislike is followed by a mute", "1%"),
    "report": ("a dislike is a report instead", "5%"),
    "group": ("a session brings a post to a group", "5%"),
    "message": ("a session brings a message to somebody followed", "3%"),
    "search": ("a session searches for a topic", "5%"),
    "trend": ("a session looks at the trends", "10%"),
}
"""What each rate is a part of, and what it is if it is left out. `docs/science.md` has the formulas."""
_ACTS = ("world: platform",)
RATES = Fields(
    "rates",
    tuple(Key(a, Share(), f"How often {what}.", "2%", f"platform.rates.{a}", _ACTS, default) for a, (what, default) in _RATES.items()),
)
GROUP = Fields(
    "a group",
    (
        Key("personas", ListOf(Text()), "Members are of these personas.", "[pensioner]", "platform.groups", _ACTS, "all"),
        Key("agents", ListOf(Text()), "Members are these residents, by id.", "[rosa14]", "platform.groups", _ACTS, "all"),
        Key("share", Share(), "Part of those who fit that is in it.", "30%", "platform.groups", _ACTS, "100%"),
    ),
    short="personas",
)

PLATFORM = Fields(
    "platform",
    (
        Key(
            "kind",
            OneOf(("microblog",), "platforms"),
            "What the platform is.",
            "microblog",
            "platform.kind",
            ("world: platform",),
            "microblog",
        ),
        Key(
            "actions",
            ListOf(OneOf((*ACTIONS, *SHORTHANDS), "actions"), least=1),
            "What residents can do; `react` means like and dislike.",
            "[post, reply, repost, react, follow, unfollow]",
            "platform.actions",
            ("world: platform",),
            "[post, reply, repost, quote, like, dislike, follow, unfollow, mute]",
        ),
        Key("feed", feed("platform.feed"), "What residents are shown.", "{posts: 12, recency: 0.5}", "platform.feed", ("world: feed",)),
        Key("rates", RATES, "How often residents do what they can.", "{repost: 4%, report: 10%}", "platform.rates", _ACTS),
        Key("hide_after", Whole(1, 1_000_000), "Reports after which nobody is shown a post.", "3", "platform.hide_after", _ACTS, "5"),
        Key("results", Whole(1, 8), "Posts that a search or a look at the trends shows.", "5", "platform.results", _ACTS, "3"),
        Key("trend_span", When(), "How far back acts count for a trend.", "12h", "platform.trend_span", _ACTS, "36 ticks"),
        Key(
            "groups",
            MapOf(GROUP, "groups"),
            "Who writes to each other out of others' sight.",
            "{allotments: {personas: [pensioner], share: 30%}}",
            "platform.groups",
            _ACTS,
            "groups form along the follow graph",
        ),
        Key(
            "group_size", Whole(2, 100_000), "About how many are in a group that forms by itself.", "20", "platform.group_size", _ACTS, "12"
        ),
    ),
)

_DYNAMICS = ("world: dynamics",)
DYNAMICS = Fields(
    "dynamics",
    (
        Key(
            "model",
            OneOf(("bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen"), "models of opinion change"),
            "How stances move; equations in docs/science.md.",
            "social_judgement",
            "dynamics.model",
            _DYNAMICS,
            "bounded_confidence",
        ),
        Key("rate", Share(), "How far one session moves a reader.", "0.06", "dynamics.rate", _DYNAMICS, "0.06"),
        Key(
            "confidence",
            Number(0.0, 2.0),
            "Distance of stances within which people convince each other.",
            "0.7",
            "dynamics.confidence",
            _DYNAMICS,
            "0.7",
        ),
        Key(
            "rejection",
            Number(0.0, 2.0),
            "Social judgement: distance beyond which people push each other away.",
            "1.2",
            "dynamics.rejection",
            _DYNAMICS,
            "1.2",
        ),
        Key("repulsion", Number(0.0, 1.0), "Social judgement: strength of that push.", "0.1", "dynamics.repulsion", _DYNAMICS, "0"),
        Key("anchor", Share(), "Pull back to the first stance, each session.", "0.01", "dynamics.anchor", _DYNAMICS, "0.01"),
        Key("noise", Number(0.0, 1.0), "Spread of what people write around what they think.", "0.05", "dynamics.noise", _DYNAMICS, "0.05"),
        Key(
            "contrarians",
            Share(),
            "Part of the residents that moves away from what it reads.",
            "3%",
            "dynamics.contrarians",
            _DYNAMICS,
            "3%",
        ),
        Key(
            "posting_tail",
            OneOf(("mild", "strong"), "tails"),
            "How unequally people write.",
            "strong",
            "dynamics.posting_tail",
            _DYNAMICS,
            "mild",
        ),
    ),
    short="model",
)

_LANGUAGE = ("world: language",)
LANGUAGE = Fields(
    "language",
    (
        Key(
            "code",
            Text(),
            "Language of the generated texts, and of all that agents remember: en, pt, es or uk.",
            "pt",
            "language.code",
            (*_LANGUAGE, "memory: recall", "memory: persona state", "agents on a model"),
            "en",
        ),
        Key("hedge", Share(), "Part of the texts that hedge.", "10%", "language.hedge", _LANGUAGE, "10%"),
        Key("negation", Share(), "Part of the texts that say it by negation.", "10%", "language.negation", _LANGUAGE, "10%"),
        Key("sarcasm", Share(), "Part of the texts that mean the opposite.", "3%", "language.sarcasm", _LANGUAGE, "3%"),
        Key("ellipsis", Share(), "Part of the replies that leave topic and stance implied.", "25%", "language.ellipsis", _LANGUAGE, "25%"),
        Key("typo", Share(), "Part of the texts with a typing slip.", "5%", "language.typo", _LANGUAGE, "0%"),
        Key("code_switch", Share(), "Part of the texts with words of another language.", "5%", "language.code_switch", _LANGUAGE, "0%"),
        Key(
            "split",
            OneOf(("all", "train", "held_out"), "halves"),
            "Which half of the paraphrases is used; for measuring extractors.",
            "held_out",
            "language.split",
            _LANGUAGE,
            "all",
        ),
    ),
    short="code",
)


class _Rhythm(Fields):
    """Weights by part of day, or 24 numbers."""

    def read(self, node: object, reader: object) -> object:
        """A Section, or a tuple of 24 weights."""
        from simflow.scenario.nodes import Items  # noqa: PLC0415

        return _HOURS.read(node, reader) if isinstance(node, Items) else super().read(node, reader)  # type: ignore[arg-type]

    def schema(self) -> dict[str, object]:
        """Either form."""
        return {"anyOf": [super().schema(), _HOURS.schema()]}


_HOURS: Kind = ListOf(Number(0.0, 1000.0), exactly=24)
_CLOCK = ("world: rhythm",)
_HOUR = [
    Key(n, Number(0.0, 1000.0), f"Weight of {h.start}:00 to {h.stop}:00.", "40%", "clock.active", _CLOCK, "100%")
    for n, h in PARTS_OF_DAY.items()
]
CLOCK = Fields(
    "clock",
    (
        Key(
            "ticks",
            When(),
            "Length of the run, in ticks or as a time.",
            "20d",
            "clock.ticks",
            ("run: windows",),
            "480 ticks, or the length of the trace",
        ),
        Key("tick", When(), "Length of one tick.", "1h", "clock.minutes", ("world: rhythm",), "1h"),
        Key(
            "window",
            When(),
            "Ticks that are computed, stored and scheduled as one unit (a partition in Dagster).",
            "250",
            "clock.window",
            ("run: windows",),
            "120 ticks",
        ),
        Key(
            "sessions",
            Number(0.01, 130.0),
            "Visits of a resident a day; those within one tick count as one.",
            "3",
            "clock.sessions",
            _CLOCK,
            "5.76",
        ),
        Key(
            "active",
            _Rhythm("active", tuple(_HOUR)),
            "How lively each part of the day is, or 24 weights by hour.",
            "{night: 5%, morning: 40%, day: 60%, evening: 100%}",
            "clock.active",
            _CLOCK,
        ),
        Key(
            "weekday",
            Fields(
                "weekday",
                tuple(
                    Key(d, Number(0.0, 1000.0), f"Weight of {d.capitalize()}.", "100%", "clock.weekday", _CLOCK, "100%") for d in WEEKDAYS
                ),
            ),
            "How lively each day of the week is; tick 0 is a Monday, 0:00.",
            "{saturday: 50%, sunday: 40%}",
            "clock.weekday",
            _CLOCK,
        ),
    ),
    short="ticks",
)
