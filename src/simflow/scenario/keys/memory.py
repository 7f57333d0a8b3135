"""Keys about memory, extraction and models."""

from __future__ import annotations

from simflow.scenario.kinds import Fields, Key, MapOf, Members, OneOf, Share, Text, When, Whole

_RECALL = ("memory: recall",)
MEMORY = Fields(
    "memory",
    (
        Key(
            "mode",
            OneOf(("vectors", "graph", "hybrid"), "modes"),
            "Which searches a recall runs.",
            "vectors",
            "memory.mode",
            _RECALL,
            "hybrid",
        ),
        Key(
            "scope",
            OneOf(("witnessed", "world"), "scopes"),
            "Whether an agent recalls what it saw or everything.",
            "world",
            "memory.scope",
            _RECALL,
            "witnessed",
        ),
        Key(
            "episodes",
            Fields(
                "memory.episodes",
                (
                    Key("top", Whole(0, 1000), "Episodes that a recall returns.", "8", "memory.top", _RECALL, "8"),
                    Key("half_life", When(), "Age at which an episode counts half.", "500", "memory.half_life", _RECALL, "500 ticks"),
                ),
            ),
            "Vector search over episodes.",
            "{top: 8, half_life: 500}",
            "memory.top",
            _RECALL,
        ),
        Key(
            "relations",
            Fields(
                "memory.relations",
                (
                    Key("top", Whole(0, 1000), "Relations that a recall returns.", "12", "memory.relations", _RECALL, "12"),
                    Key("hops", Whole(0, 4), "Steps from the agent and what the situation names.", "2", "memory.hops", _RECALL, "2"),
                ),
            ),
            "Search in the graph.",
            "{top: 12, hops: 2}",
            "memory.relations",
            _RECALL,
        ),
        Key(
            "persona",
            Fields(
                "memory.persona",
                (
                    Key(
                        "refresh",
                        When(),
                        "How often persona states are written anew.",
                        "250",
                        "memory.refresh",
                        ("memory: persona state",),
                        "120 ticks",
                    ),
                ),
            ),
            "Persona states.",
            "{refresh: 250}",
            "memory.refresh",
            ("memory: persona state",),
        ),
        Key(
            "tokens",
            Fields(
                "memory.tokens",
                (
                    Key(
                        "persona",
                        Whole(0, 100_000),
                        "Room for the persona state, per turn: a hard cap.",
                        "250",
                        "memory.persona_tokens",
                        _RECALL,
                        "160",
                    ),
                    Key(
                        "relations",
                        Whole(0, 100_000),
                        "Room for relations, per turn; they may use what others leave. The sum of all is a hard cap.",
                        "350",
                        "memory.relation_tokens",
                        _RECALL,
                        "200",
                    ),
                    Key(
                        "episodes",
                        Whole(0, 100_000),
                        "Room for episodes, per turn; they may use what others leave. The sum of all is a hard cap.",
                        "600",
                        "memory.episode_tokens",
                        _RECALL,
                        "440",
                    ),
                ),
            ),
            "Budgets of a memory block.",
            "{persona: 250, relations: 350, episodes: 600}",
            "memory.persona_tokens",
            _RECALL,
        ),
    ),
)

_EXTRACT = ("memory: extraction",)
RELATION = Fields(
    "a relation kind",
    (
        Key("of", OneOf(("agent",), "holders"), "Who holds it.", "agent", "extract.relations.of", _EXTRACT, "agent"),
        Key(
            "on",
            Text(),
            "What it is towards: `agent`, `topic`, or a kind of `entities`.",
            "topic",
            "extract.relations.on",
            _EXTRACT,
            "topic",
        ),
        Key("about", OneOf(("topic",), "subjects"), "What it is about, if that is more.", "topic", "extract.relations.about", _EXTRACT),
        Key(
            "newest",
            OneOf(("wins", "adds"), "rules"),
            "Whether a newer one supersedes the older (per holder, target and subject) or adds to it.",
            "wins",
            "extract.relations.newest",
            ("memory: supersession",),
            "wins",
        ),
    ),
)
ENTITY_KIND = Fields(
    "an entity kind",
    (
        Key("about", Text(), "What things of this kind are.", "Parts of the town.", "extract.entities.about", ("models: extraction",)),
        Key(
            "names",
            Members(),
            "All there are, as a list, or as a map from each name to the other words that mean it.",
            "{harbour: [docks, port], old town: []}",
            "extract.entities.entities",
            (*_EXTRACT, "memory: recall"),
            required=True,
        ),
    ),
    short="names",
)
EXTRACT = Fields(
    "extract",
    (
        Key("every", When(), "Ticks between two batches.", "50", "extract.every", _EXTRACT, "a part of the window, at most 40 ticks"),
        Key("batch", Whole(1, 1000), "Episodes in one call, at most.", "20", "extract.batch", _EXTRACT, "20"),
        Key(
            "relations",
            MapOf(RELATION, "relation kinds"),
            "The kinds of edge that are looked for; these replace the default ones.",
            "{opinion: {of: agent, on: topic, newest: wins}}",
            "extract.relations",
            _EXTRACT,
        ),
        Key(
            "entities",
            MapOf(ENTITY_KIND, "entity kinds"),
            "Things besides agents and topics that people speak of, by kind; a relation kind is towards them with `on: KIND`.",
            "{place: [harbour, old town], organisation: {names: {water company: [utility]}}}",
            "extract.entities",
            (*_EXTRACT, "memory: recall"),
        ),
        Key(
            "evidence_half_life",
            When(),
            "Age at which evidence for an edge counts half.",
            "100",
            "extract.evidence_half_life",
            ("memory: supersession",),
            "100 ticks",
        ),
        Key(
            "accept",
            Share(),
            "Cascade: confidence from which the cheap extractor's finding stands.",
            "0.9",
            "extract.accept",
            ("models: extraction",),
            "90%",
        ),
        Key(
            "audit",
            Share(),
            "Cascade: part of those that the dear extractor checks all the same.",
            "2%",
            "extract.audit",
            ("models: extraction",),
            "2%",
        ),
    ),
    instead={"cascade": "write `accept` and `audit`"},
)

MODELS = Fields(
    "models",
    (
        Key(
            "engine",
            Text(),
            "What acts for the residents.",
            "builtin",
            "models.engine",
            ("run: parts",),
            "builtin, or replay with `replay:`",
        ),
        Key("extractor", Text(), "What finds relations in text.", "builtin", "models.extractor", ("run: parts",), "builtin"),
        Key("embedder", Text(), "What turns sentences into vectors.", "builtin", "models.embedder", ("run: parts",), "builtin"),
        Key(
            "model",
            Text(),
            "The model's name, as the endpoint knows it. Endpoint and key come from the environment.",
            "gpt-4o-mini",
            "models.model",
            ("run: parts",),
        ),
    ),
)

REPLAY = Fields(
    "replay",
    (
        Key(
            "file",
            Text(),
            "The trace; relative to the scenario, or below ${corpora} (the folder that SIMFLOW_CORPORA names).",
            "trace.jsonl",
            "replay.path",
            ("world: replay",),
            required=True,
        ),
        Key(
            "format",
            OneOf(("jsonl", "csv", "parquet", "oasis"), "formats"),
            "What the file is.",
            "jsonl",
            "replay.format",
            ("world: replay",),
            "from the file's ending",
        ),
        Key(
            "time",
            OneOf(("ts", "tick", "order"), "clocks"),
            "What places a row in time: its `ts`, its `tick`, or its order.",
            "tick",
            "replay.time",
            ("world: replay",),
            "tick if rows have it, else ts, else order",
        ),
        Key(
            "tick",
            When(),
            "Length of a tick, for rows that carry times.",
            "1h",
            "replay.minutes",
            ("world: replay",),
            "the clock's tick",
        ),
        Key(
            "topic_by",
            Text(),
            "Column that names a row's topic, by the topic's name or one of its words; a dot steps into an object: `labels.topic`. Without `topics`, its values are the topics.",
            "thread",
            "replay.topic_by",
            ("world: replay",),
        ),
    ),
    short="file",
)
