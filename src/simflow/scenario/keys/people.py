"""Keys about who lives in the world: topics, personas, people from files, voices, and the follow graph."""

from __future__ import annotations

from simflow.scenario.keys.platform import feed
from simflow.scenario.kinds import Distributed, Fields, Key, ListOf, MapOf, Number, OneOf, Share, Text, When, Whole

STANCE = Distributed(-1.0, 1.0)

TOPIC = Fields(
    "a topic",
    (
        Key(
            "about",
            Text(),
            "One sentence that says what the topic is.",
            "A plan to raise water bills.",
            "topics.about",
            ("memory: extraction", "agents on a model"),
        ),
        Key(
            "scale",
            ListOf(Text(), exactly=3),
            "Verbs of stance -1, 0 and +1; they build the sentences that agents remember.",
            "[opposes, is unsure about, supports]",
            "topics.scale",
            ("memory: extraction", "memory: recall", "agents on a model"),
            "[opposes, is unsure about, supports]",
        ),
        Key(
            "words",
            ListOf(Text()),
            "Words that name the topic in a text; its name is always one.",
            "[tariff, water bill]",
            "topics.words",
            ("world: language", "memory: extraction"),
        ),
    ),
    short="about",
)

PERSONA = Fields(
    "a persona",
    (
        Key(
            "share",
            Share(),
            "Part of the residents. Personas that give neither share nor count divide the rest evenly.",
            "25%",
            "personas.count",
            ("world: population",),
        ),
        Key("count", Whole(0, 10_000_000), "Number of residents, instead of a share.", "75", "personas.count", ("world: population",)),
        Key(
            "voice",
            Text(),
            "How such a resident writes.",
            "careful and polite",
            "personas.voice",
            ("agents on a model", "memory: persona state"),
        ),
        Key(
            "goals",
            ListOf(Text()),
            "What such a resident wants.",
            "[keep bills low]",
            "personas.goals",
            ("agents on a model", "memory: persona state"),
        ),
        Key(
            "traits",
            MapOf(Distributed(words=True), "traits"),
            "Free traits, each with a distribution. `activity` (0 to 1) says how often a resident is there.",
            "{age: 71 ± 6, district: {old town: 60%, harbour: 40%}, activity: {beta: [2, 8]}}",
            "personas.traits",
            ("world: population", "world: network", "agents on a model"),
        ),
        Key(
            "stance",
            MapOf(STANCE, "topics"),
            "Stance on topics at the start, -1 to 1.",
            "{water tariff: -0.5 ± 0.3}",
            "personas.stance",
            ("world: population",),
        ),
        Key(
            "susceptibility",
            MapOf(Distributed(0.0, 1.0), "topics"),
            "How far such a resident moves when convinced, by topic.",
            "{water tariff: 0.2..0.8}",
            "personas.susceptibility",
            ("world: dynamics",),
        ),
        Key(
            "stubbornness",
            MapOf(Distributed(0.0, 1.0), "topics"),
            "Pull back to the first stance, by topic.",
            "{water tariff: 0.1}",
            "personas.stubbornness",
            ("world: dynamics",),
        ),
        Key(
            "feed", feed("personas.feed"), "A feed of its own for this persona.", "{kind: chronological}", "personas.feed", ("world: feed",)
        ),
        Key("engine", Text(), "Engine that acts for this persona, if not the one of `models`.", "llm", "personas.engine", ("run: parts",)),
        Key("model", Text(), "Model that an endpoint knows, for this persona.", "gpt-4o-mini", "personas.model", ("agents on a model",)),
        Key("joins", When(), "When these residents appear.", "10d", "personas.joins", ("world: population",)),
        Key("leaves", When(end=True), "When these residents leave for good.", "15d", "personas.leaves", ("world: population",)),
    ),
    instead={
        "stances": "did you mean 'stance'?",
        "opinion": "did you mean 'stance'?",
        "weight": "did you mean 'share'?",
        "percent": "did you mean 'share'?",
    },
)

VOICE = Fields(
    "a voice",
    (
        Key(
            "followers",
            Share(),
            "Part of the residents that follows it from the start.",
            "80%",
            "voices.followers",
            ("world: network",),
            "50%",
        ),
        Key("about", Text(), "Who it is.", "The official account of the city.", "voices.about", ("memory: recall", "agents on a model")),
        Key(
            "stance",
            MapOf(Number(-1.0, 1.0), "topics"),
            "Stance of its posts, unless an event says otherwise.",
            "{water tariff: 0.6}",
            "events.stance",
            ("world: events",),
        ),
    ),
    short="about",
)

PEOPLE_FILE = Fields(
    "people",
    (
        Key(
            "file",
            Text(),
            "A CSV, JSON or JSONL file with a row for each resident; the path is relative to the scenario.",
            "people.csv",
            "people",
            ("world: population",),
            required=True,
        ),
        Key(
            "format",
            OneOf(("auto", "plain", "oasis", "agentsociety", "tinytroupe", "genagents", "smallville"), "formats"),
            "Whose file it is; found from its columns if left out.",
            "auto",
            "people",
            ("scenario: people",),
            "auto",
        ),
        Key(
            "columns",
            MapOf(Text(), "columns"),
            "Field of a person: name of the column that holds it.",
            "{name: username, about: bio}",
            "people",
            ("scenario: people",),
        ),
        Key(
            "encoding",
            OneOf(("utf-8", "utf-16", "latin-1", "cp1251", "cp1252", "gb18030", "shift_jis"), "encodings"),
            "How the file's letters are stored, if not as UTF-8.",
            "cp1252",
            "people",
            ("scenario: people",),
            "utf-8",
        ),
        Key("persona", Text(), "Persona of rows that name none.", "pensioner", "people.persona", ("world: population",)),
    ),
    short="file",
)

POPULATION = Fields(
    "population",
    (
        Key(
            "agents",
            Whole(1, 10_000_000),
            "Number of residents.",
            "300",
            "personas.count",
            ("world: population",),
            "100, or the rows of `people`",
        ),
        Key(
            "personas",
            MapOf(PERSONA, "personas"),
            "Kinds of resident.",
            "{pensioner: {share: 25%}, renter: {share: 75%}}",
            "personas",
            ("world: population",),
        ),
        Key(
            "people",
            PEOPLE_FILE,
            "Residents by name, from a file; they count among their persona.",
            "people.csv",
            "people",
            ("world: population",),
        ),
        Key(
            "voices",
            MapOf(VOICE, "voices"),
            "Accounts that act only through events.",
            "{city council: {followers: 80%}}",
            "voices",
            ("world: network", "world: events"),
        ),
    ),
)

NETWORK = Fields(
    "network",
    (
        Key(
            "shape",
            OneOf(("small_world", "preferential", "blocks", "configuration", "file"), "shapes"),
            "Generator of the follow graph.",
            "blocks",
            "network.shape",
            ("world: network",),
            "small_world",
        ),
        Key("links", Whole(0, 10_000), "Mean number of accounts that a resident follows.", "8", "network.links", ("world: network",), "8"),
        Key("rewire", Share(), "Small world: part of the links that go anywhere.", "10%", "network.rewire", ("world: network",), "10%"),
        Key(
            "homophily",
            Fields(
                "homophily",
                (
                    Key(
                        "by",
                        Text(),
                        "The trait that makes people alike; `persona` for the persona itself.",
                        "district",
                        "network.homophily_by",
                        ("world: network",),
                    ),
                    Key(
                        "strength",
                        Share(),
                        "0 for none, 1 for links among the alike only.",
                        "0.4",
                        "network.homophily_strength",
                        ("world: network",),
                        "0",
                    ),
                ),
            ),
            "Preference for links to people who are alike.",
            "{by: district, strength: 0.4}",
            "network.homophily_strength",
            ("world: network",),
        ),
        Key(
            "edges",
            Text(),
            "A CSV or JSONL file of links (follower, followee), with `shape: file`.",
            "edges.csv",
            "network.edges",
            ("world: network",),
        ),
    ),
)
