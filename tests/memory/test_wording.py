"""What simflow says in each language: the tables agree, numbers have their forms, and what memory tells is read back as it was meant."""

from __future__ import annotations

import itertools
import re
import string
from pathlib import Path

import pyarrow as pa
import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.conftest import CELL, PEOPLE, Talkers, Words, replace

from simflow import memory
from simflow.episode import AGENTS, EPISODES, sentence, wording
from simflow.episode.wording import CODES, category
from simflow.evaluation.reader import Past, read_fact
from simflow.features import KINDS
from simflow.memory.claims import Slot
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.memory.graph import Fact
from simflow.memory.linking import Names
from simflow.memory.relations import leader, shown, tell, verbs_of
from simflow.plan import Cell, Clock, Constant, Event, Extract, Language, Memory, Normal, Persona, Topic
from simflow.ports import Extraction, Finding
from simflow.run import open_cell, parts, window_keys
from simflow.runs import find_run
from simflow.store import Store
from simflow.world.builtin import BuiltinEngine

GOLDEN = Path(__file__).with_name("golden")
OTHERS = [code for code in CODES if code != "en"]
LOCALES = {"en": "en", "pt": "pt_PT", "es": "es", "uk": "uk"}
FORMS = {"en": {"other"}, "pt": {"one", "other"}, "es": {"one", "other"}, "uk": {"one", "few", "many", "other"}}
ALIKE = {"line", "persona.tense"}
"""Keys that may have the words of English: `tick` is a word of the scenario language."""
NAMES = Names(
    pa.Table.from_pylist(
        [{"agent": i, "id": key, "name": name, "is_voice": False, "joined": 0} for i, (key, name) in enumerate(PEOPLE)], schema=AGENTS
    )
)
TOWN = {
    "pt": ("água", "comboios", "Sou contra: {}, penso em {}", "Sou a favor: {}, penso em {}", "votação"),
    "es": ("agua", "trenes", "Estoy en contra: {}, pienso en {}", "Estoy a favor: {}, pienso en {}", "votación"),
    "uk": ("вода", "поїзди", "Я проти, якщо це {}, бо є {}", "Я за, якщо це {}, бо є {}", "голосування"),
}
"""By language: two topics, what is said against and for one, an event."""
THINGS = {
    "pt": ("fugas", "preços", "contadores", "canos", "orçamento", "verão", "câmara", "jardim"),
    "es": ("fugas", "precios", "contadores", "tubos", "presupuesto", "verano", "alcaldía", "jardín"),
    "uk": ("витоки", "ціни", "лічильники", "труби", "бюджет", "літо", "рада", "сад"),
}
ASKED = {
    "pt": "O que pensa @bob1 sobre a água, e o que se diz agora?",
    "es": "¿Qué piensa @bob1 sobre el agua, y qué se dice ahora?",
    "uk": "Що @bob1 думає про вода, і що кажуть зараз?",
}


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def letters(text):
    return re.findall(r"[^\W\d_]+", re.sub(r"\{\w+\}", " ", text))


def base(key):
    # Forms of a number differ from language to language; the key that holds them does not.
    head, _, last = key.rpartition(".")
    return head if last in {"one", "few", "many", "other"} else key


# ------------------------------------------------------------------------------------------------------------------- the tables


@pytest.mark.parametrize("code", OTHERS)
def test_every_language_has_every_key_and_fills_in_nothing_that_english_is_not_given(code):
    own, english = wording(code).texts(), wording("en").texts()
    assert {base(k) for k in own} == {base(k) for k in english}
    for key, text in own.items():
        known = set().union(*(fields(t) for k, t in english.items() if base(k) == base(key)))
        more, less = {"on"} if key == "fact.past_agent" else set(), {"last"} if base(key).endswith("_since") else set()
        assert fields(text) == (known | more) - less, key


@pytest.mark.parametrize("code", OTHERS)
def test_no_text_is_left_in_english(code):
    own, english = wording(code).texts(), wording("en").texts()
    for key, text in own.items():
        if letters(text) and key not in ALIKE:
            assert text not in english.values(), key


@pytest.mark.parametrize("code", CODES)
def test_a_number_has_the_form_that_cldr_gives_it(code):
    rule = Locale.parse(LOCALES[code]).plural_form
    assert [category(code, n) for n in range(3000)] == [rule(n) for n in range(3000)]


@pytest.mark.parametrize("code", CODES)
def test_every_form_of_a_number_is_there(code):
    forms: dict[str, set[str]] = {}
    for key in wording(code).texts():
        if base(key) != key:
            forms.setdefault(base(key), set()).add(key.rpartition(".")[2])
    assert forms
    for key, there in forms.items():
        assert FORMS[code] <= there, key


@pytest.mark.parametrize("code", CODES)
def test_a_scale_that_a_scenario_leaves_out_is_in_its_language(code):
    own = ("rejeita", "pondera", "defende")
    cell = Cell("town", "base", {}, 0, topics=(Topic("a"), Topic("b", scale=own)), language=Language(code=code))
    assert Topic("a").scale == wording("en").verbs
    assert verbs_of(cell, "a") == wording(code).verbs
    assert verbs_of(cell, "b") == own
    assert verbs_of(cell, None) == wording(code).attitudes


@pytest.mark.parametrize(("code", "table"), [(None, "en"), ("fr", "en"), ("EN-gb", "en"), ("pt-BR", "pt"), ("pt_PT", "pt"), ("UK", "uk")])
def test_a_language_without_a_table_has_english_words(code, table):
    assert wording(code).code == table


def test_the_words_of_another_language_are_in_the_address_of_its_windows_and_those_of_english_are_not(monkeypatch):
    monkeypatch.setattr(parts, "factory", lambda part, name: {"engine": Talkers, "embedder": Words, "extractor": Listener}[part])
    made = {code: parts.Parts(replace(CELL, language=Language(code=code))) for code in (*CODES, "fr")}
    ids = {code: one.ids() for code, one in made.items()}
    assert (
        ids["en"] == ids["fr"] == {"format": ids["en"]["format"], "engine": "talkers/1", "embedder": "words/1", "extractor": "listener/1"}
    )
    assert {ids[code]["words"] for code in OTHERS} == {wording(code).id for code in OTHERS}
    assert len({ids[code]["words"] for code in OTHERS}) == 3
    cell = made["pt"].cell
    assert window_keys(cell)[0] != window_keys(cell, {k: v for k, v in ids["pt"].items() if k != "words"})[0]


# ------------------------------------------------------------------------------------------------------------ sentences and facts


def topic_of(code):
    return "water" if code == "en" else TOWN[code][0]


def cell_of(code):
    plain = (Topic(topic_of(code)),)
    return Cell("town", "base", {}, 0, topics=plain, language=Language(code=code))


def golden(code):
    """Everything that the table of a language can say, in the order of kinds."""
    lines = [f"# Sentences, {wording(code).say('name')}"]
    for kind in (*KINDS, "dance"):
        lines.append(f"## {kind}")
        for whom, text in itertools.product((None, "bo"), (None, "18%?")):
            where = None if text is None else wording(code).say("group.named", name="norte") if kind == "group" else text
            lines.append(sentence(kind, "ana", target=whom, text=text, parent_text=where, language=code))
    lines.append("# Facts")
    lines += [tell(cell_of(code), NAMES, fact) for fact in facts(topic_of(code))]
    moved = [(1, (4,)), (2, (4, 5)), (5, tuple(range(5))), (21, tuple(range(21)))]
    lines += [leader(cell_of(code), NAMES, topic_of(code), (0, 1.0, people, times), 1.0, 0).text for people, times in moved]
    return "\n".join(dict.fromkeys(lines)) + "\n"


def facts(topic):
    opinion, attitude = Slot("opinion", 0, None, topic, None), Slot("attitude", 0, 1, None, topic)
    for label, (count, since, last) in zip((-1, 0, 1), [(1, 92, 92), (3, 92, 102), (21, 92, 92)], strict=True):
        for slot in (opinion, attitude):
            yield Fact(slot, label, label, 1.0, count, since, last, (), 0, None, ())
    yield Fact(opinion, -1, -1.0, 1.0, 5, 92, 102, (), 0, None, ((1, 42, 92),))
    yield Fact(attitude, 1, 1.0, 1.0, 2, 92, 102, (), 0, None, ((0, 7, 30), (-1, 42, 92)))
    yield Fact(Slot("trust", 0, 1, None, None), 1, 1.0, 1.0, 2, 92, 102, (), 0, None, ())
    yield Fact(Slot("influence", 0, 1, None, topic), 1, 1.0, 1.0, 22, 92, 102, (), 0, None, ())


@pytest.mark.parametrize("code", CODES)
def test_what_is_said_reads_as_it_is_kept_in_the_golden_file(code):
    # To accept a change on purpose: write golden(code) into the file, and read it as somebody who speaks the language would.
    assert golden(code) == (GOLDEN / f"words.{code}.md").read_text("utf-8")


WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=30)


@given(kind=st.sampled_from(KINDS), whom=st.none() | WORDS, text=st.none() | WORDS, code=st.sampled_from(CODES))
def test_a_sentence_holds_the_words_as_they_are(kind, whom, text, code):
    said = sentence(kind, "ana", target=whom, text=text, parent_text=text, language=code)
    assert "@ana" in said
    forms = wording(code).sentences[kind]
    if text and "words" in forms:
        assert text in said
    if whom and "to" in forms:
        assert f"@{whom.removeprefix('@')}" in said


TICKS = st.integers(0, 10**6)


@st.composite
def told(draw):
    """A fact on a topic or a person, in any language, as it could have come about."""
    code, topic = draw(st.sampled_from(CODES)), draw(WORDS)
    on_topic = draw(st.booleans())
    slot = Slot("opinion", 0, None, topic, None) if on_topic else Slot("attitude", 0, 1, None, draw(st.none() | st.just(topic)))
    start, stop, since, last = sorted(draw(st.tuples(TICKS, TICKS, TICKS, TICKS)))
    history = ((draw(st.sampled_from((-1, 0, 1))), start, stop),) if draw(st.booleans()) else ()
    count = draw(st.integers(1, 200))
    label = draw(st.sampled_from((-1, 0, 1)))
    fact = Fact(slot, label, float(label), 1.0, count, since, since if count == 1 else last, (), 0, None, history)
    return code, topic, fact


@given(told())
def test_what_memory_tells_is_read_back(case):
    code, topic, fact = case
    cell = Cell("town", "base", {}, 0, topics=(Topic(topic),), language=Language(code=code))
    words, verbs = wording(code), verbs_of(cell, fact.slot.on_topic)
    read = read_fact(words, tell(cell, NAMES, fact), "@ann0", verbs, shown(words, NAMES, fact.slot))
    assert read is not None
    assert (read.label, read.since, read.last, read.times) == (fact.label, fact.since, fact.last_seen, fact.count)
    assert read.before == (Past(*fact.history[-1]) if fact.history else None)


# ------------------------------------------------------------------------------------------------------------------------ blocks


class Neighbours(Talkers):
    """The talkers of the small town, who speak another language."""

    def advance(self, state, start, stop, *, recall=None, progress=None):
        step = super().advance(state, start, stop, recall=recall, progress=progress)
        code, rows = self.cell.language.code, step.episodes.to_pylist()
        for row in rows:
            row["text"] = saying(code, row["tick"])
            row["sentence"] = sentence("post", PEOPLE[row["actor"]][0], text=row["text"], language=code)
        return replace(step, episodes=pa.Table.from_pylist(rows, schema=EPISODES))


def saying(code, tick):
    """What the talkers say at a tick: against until 40, for until 80, and so on."""
    return TOWN[code][2 + tick // 40 % 2].format(TOWN[code][tick // 3 % 2], THINGS[code][tick % 8])


class Listener:
    """Reads what the neighbours say without ever failing."""

    id = "listener/1"

    def __init__(self, cell, embedder):
        del embedder
        self.code = cell.language.code

    def extract(self, batch):
        found = []
        for passage in batch:
            topic = TOWN[self.code][passage.tick // 3 % 2]
            found.append(Finding(passage.episode, "opinion", passage.actor, None, topic, None, (-1.0, 1.0)[passage.tick // 40 % 2], 1.0))
        return Extraction(tuple(found), ())


def lived(cell, root, **made):
    """The memory of a run of a cell."""
    with pytest.MonkeyPatch().context() as patched:
        patched.setattr(parts, "factory", lambda part, name: made[part])
        run = open_cell("small-town.yaml", cell, root)
        for number in range(len(run.windows)):
            run.window(number)
    return memory.open(Store(root).open(find_run(root, cell.scenario)), embedder=Words())


@pytest.mark.parametrize("code", OTHERS)
def test_a_block_reads_as_it_is_kept_in_the_golden_file(code, tmp_path):
    # To accept a change on purpose: write the block into the file, and read it as somebody who speaks the language would.
    first, other, *_, vote = TOWN[code]
    topics, events = (Topic(first), Topic(other)), (Event(vote, "post", at=60, text=vote),)
    cell = replace(CELL, topics=topics, events=events, language=Language(code=code))
    view = lived(cell, tmp_path / ".simflow", engine=Neighbours, embedder=Words, extractor=Listener)
    block = view.recall("cleo2", 120, ASKED[code])
    assert block.reading["agents"] == ["@bob1"]
    assert block.reading["topics"] == [first]
    assert block.tokens <= block.total
    assert block.text == (GOLDEN / f"block.{code}.md").read_text("utf-8")


@pytest.mark.parametrize("code", OTHERS)
def test_no_word_of_english_is_left_in_what_a_small_world_remembers(code, tmp_path):
    topic = TOWN[code][0]
    cell = Cell(
        "small-town",
        "base",
        {},
        3,
        topics=(Topic(topic),),
        personas=(Persona("x", 16, goals=("y",), stance={topic: Normal(-0.2, 0.5)}, traits={"activity": Constant(0.9)}),),
        clock=Clock(ticks=48, window=24, minutes=60),
        memory=Memory(refresh=24),
        extract=Extract(every=12),
        language=Language(code=code),
    )
    view = lived(cell, tmp_path / ".simflow", engine=BuiltinEngine, embedder=Words, extractor=BuiltinExtractor)
    rows = view.run.table("episodes").to_pylist()
    texts = " ".join(row["text"] or "" for row in rows)
    english = {w.lower() for text in wording("en").texts().values() for w in letters(text)}
    own = {w.lower() for text in wording(code).texts().values() for w in letters(text)} | {w.lower() for w in letters(texts)}
    forbidden = english - own
    assert len(forbidden) > 60
    known = re.compile("|".join([r"@[\w.-]+", *map(re.escape, view.names.names.values())]))
    told = [row["sentence"] for row in rows]
    for agent in range(0, 16, 3):
        asked = (topic, f"@{view.names.ids[agent]}, @{view.names.ids[(agent + 5) % 16]}: {topic}")
        told += [view.recall(agent, None, about).text for about in asked]
        told += [e.belief for e in view.beliefs(agent)]
    left = {w for text in told for w in letters(known.sub(" ", text).lower()) if w in forbidden}
    assert left == set()
    assert any(wording(code).say("block.relation") in text for text in told)
