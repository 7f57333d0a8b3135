"""The top of the language: every section, and a walk over every key."""

from __future__ import annotations

from collections.abc import Iterator

from simflow.scenario.keys.events import EVENTS
from simflow.scenario.keys.memory import EXTRACT, MEMORY, MODELS, REPLAY
from simflow.scenario.keys.people import NETWORK, POPULATION, TOPIC
from simflow.scenario.keys.platform import CLOCK, DYNAMICS, LANGUAGE, PLATFORM
from simflow.scenario.keys.study import ASKS, CHECK_LIST, EXPERIMENT, LIMITS, OUTPUTS, PATTERN_LIST
from simflow.scenario.kinds import Fields, Key, Kind, ListOf, MapOf, Text

_READ = ("scenario: composition",)

ROOT = Fields(
    "a scenario",
    (
        Key(
            "scenario",
            Text(),
            "Its name; runs and assets are named after it.",
            "water-tariff",
            "scenario",
            ("run: ledger", "pipelines: asset keys"),
            required=True,
        ),
        Key(
            "from",
            ListOf(Text()),
            "Files to start from, relative to this one; the keys here win, `null` removes.",
            "library/city-300.yaml",
            "",
            _READ,
        ),
        Key("about", Text(), "The question that it answers.", "How does a city react?", "about", ("plan", "pipelines: catalogue")),
        Key("owner", Text(), "Who answers for it.", "city-analytics", "owner", ("pipelines: catalogue",)),
        Key("vars", MapOf(Text(), "variables"), "Values that ${name} stands for, in any value.", "{rise: 18%}", "", _READ),
        Key(
            "topics",
            MapOf(TOPIC, "topics"),
            "What residents have a stance on.",
            "{water tariff: A plan to raise water bills by 18%.}",
            "topics",
            ("world", "memory"),
        ),
        Key("population", POPULATION, "Who lives in this world.", "{agents: 300}", "personas", ("world: population",)),
        Key("network", NETWORK, "Who follows whom at the start.", "{shape: small_world, links: 8}", "network", ("world: network",)),
        Key("platform", PLATFORM, "What residents can do and are shown.", "{feed: {posts: 12}}", "platform", ("world: platform",)),
        Key("dynamics", DYNAMICS, "How stances move.", "{model: bounded_confidence}", "dynamics", ("world: dynamics",)),
        Key("language", LANGUAGE, "How residents write.", "{code: en}", "language", ("world: language",)),
        Key("clock", CLOCK, "Time.", "{ticks: 480, tick: 1h, window: 120}", "clock", ("run: windows", "world: rhythm")),
        Key(
            "events",
            EVENTS,
            "What the scenario makes happen, by name.",
            "{announcement: {at: 1d, post: Bills rise.}}",
            "events",
            ("world: events",),
        ),
        Key("memory", MEMORY, "What agents remember, and how much.", "{episodes: {top: 8}}", "memory", ("memory: recall",)),
        Key("extract", EXTRACT, "How relations are distilled from episodes.", "{every: 40}", "extract", ("memory: extraction",)),
        Key("models", MODELS, "The parts that do it.", "{engine: builtin}", "models", ("run: parts",)),
        Key("replay", REPLAY, "A recorded trace instead of a generated world.", "{file: trace.jsonl}", "replay", ("world: replay",)),
        Key("experiment", EXPERIMENT, "Seeds, variants, sweeps.", "{seed: 7, repeats: 5}", "seed", ("plan: cells",)),
        Key(
            "ask",
            ASKS,
            "Questions put to agents.",
            "{acceptance: {who: pensioner, at: end, question: Would you accept it?}}",
            "ask",
            ("ask",),
        ),
        Key("checks", CHECK_LIST, "What must hold at the end.", "[{covered: {by: 100, at_least: 95%}}]", "checks", ("run: checks",)),
        Key(
            "patterns",
            PATTERN_LIST,
            "What the study must reproduce to count as validated.",
            "[{measure: {name: variance, value: 0.3, tolerance: 0.1}}]",
            "patterns",
            ("run: checks",),
        ),
        Key("limits", LIMITS, "A run stops there, a plan warns.", "{tokens: 5M, cost: 20}", "limits", ("run: limits", "plan")),
        Key("outputs", OUTPUTS, "Files that a finished run leaves in the project.", "[measures]", "outputs", ("run: outputs",)),
        Key("schedule", Text(), "When Dagster runs it: five fields of cron.", '"0 6 * * 1"', "schedule", ("pipelines: schedules",)),
    ),
)


_ELSEWHERE = {
    "seed": "write it as `experiment.seed`",
    "repeats": "write it as `experiment.repeats`",
    "variants": "write them as `experiment.variants`",
    "sweep": "write it as `experiment.sweep`",
    "agents": "write it as `population.agents`",
    "personas": "write them as `population.personas`",
    "voices": "write them as `population.voices`",
    "people": "write it as `population.people`",
    "ticks": "write it as `clock.ticks`",
    "feed": "write it as `platform.feed`",
    "actions": "write them as `platform.actions`",
    "relations": "write them as `extract.relations`",
    "measures": "all measures are always taken; `checks` and `patterns` name them",
    "engine": "write it as `models.engine`",
    "model": "write it as `models.model`",
}
"""What is looked for at the top and stands elsewhere."""
ROOT.instead = _ELSEWHERE


def every_key(kind: Kind = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Key]]:
    """Each key with its path; `*` stands for a name that the author chooses. A section comes before its keys."""
    if isinstance(kind, MapOf):
        yield from every_key(kind.item, (*path, "*"))
    elif isinstance(kind, ListOf):
        yield from every_key(kind.item, path)
    elif isinstance(kind, Fields):
        for key in kind.keys:
            yield (*path, key.name), key
            yield from every_key(key.kind, (*path, key.name))
