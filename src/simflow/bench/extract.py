"""`simflow bench extract`: what extraction weighs, by strategy, on one run: real prompts, real HTTP, answers from the world's own truth.

The endpoint is scripted: it knows what each line means and says it in the words that the schema asks for, so that tokens are those of right
answers. A second one forgets lines in the middle of long batches, which shows whether the repairs hold recall flat over positions.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from simflow.llm.extractor import ModelExtractor
    from simflow.llm.ontology import Style
    from simflow.llm.room import Room
    from simflow.llm.scripted import Reply
    from simflow.plan import Cell
    from simflow.ports import Extraction, Finding, Passage

RATIO = 4.0
"""Price of a completion token over a prompt token, as gpt-4o-mini and its like have it."""
BATCH = 20
WANTED = {"batch": 0.73, "compact": 0.88, "cascade": 0.95}


@click.command()
@click.option("--episodes", default=1200, show_default=True, help="Episodes of the run to extract, the newest ones.")
@click.option("--local", default=0, show_default=True, help="Texts to give to the model of this machine (extra local-llm), for its recall.")
@click.option("--seed", default=7, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def extract(episodes: int, local: int, seed: int, as_json: bool) -> None:
    """Tokens an episode: per event, in batches, with compact output, in cascade; and recall by place in the batch."""
    result = measure(episodes, seed=seed, local=local)
    click.echo(json.dumps(result, indent=1) if as_json else table(result))


def measure(episodes: int, *, seed: int = 7, local: int = 0) -> dict[str, Any]:
    """The figures of `extract` for the newest `episodes` of a run of 300 residents. `saving` is against one call an event, at `RATIO`."""
    from simflow.llm.evenness import FLAT

    world = World(seed, episodes)
    rows = [
        world.run("per event", "every episode is a call of its own, keyed JSON", style="full", size=1),
        world.run("batch", f"{BATCH} episodes a call", style="full", size=BATCH),
        world.run("compact", "and integers for keys and ids", style="compact", size=BATCH),
        world.run("structure by rule", "and no call for likes, shares and follows", style="compact", size=BATCH, texts=True),
        world.cascade(),
    ]
    base = rows[0]["cost"]
    for row in rows:
        row["saving"] = round(1 - row.pop("cost") / base, 4)
    savings = {row["strategy"]: row["saving"] for row in rows}
    places = world.forgetful()
    halves = {"scripted": world.scripted(), **({"local": world.local(local)} if local else {})}
    result: dict[str, Any] = {
        "episodes": len(world.passages),
        "texts": len(world.texts),
        "price_ratio": RATIO,
        "counted": "o200k tokens of messages and schema as sent; provider-side prompt caching is left out",
        "strategies": rows,
        "recall_by_position": {"forgetful": places},
        "recall_by_half": halves,
        "holds": {
            **{f"{name} saves {least:.0%}": savings[name] >= least for name, least in WANTED.items()},
            "recall flat within 5 points after repairs (an endpoint that forgets lines)": places["spread"] <= FLAT,
            f"recall flat within 5 points at {BATCH} a batch (scripted)": halves["scripted"]["settles_on"] == BATCH,
        },
    }
    if local:
        size = halves["local"]["settles_on"]
        # One line a batch has no second half: nothing was shown to be flat then.
        result["holds"][f"recall flat within 5 points at {size} a batch (local)"] = size > 1
    return result


class World:
    """A run of the built-in engine, its newest episodes as passages, and what they truly say."""

    def __init__(self, seed: int, episodes: int) -> None:
        from simflow.memory.linking import Names
        from simflow.memory.passages import READ_KINDS, passages, texts_of
        from simflow.plan import Cell, Normal, Persona, Topic
        from simflow.world.builtin import BuiltinEngine

        tariff = Topic("water tariff", "A plan to raise household water bills by 18%.", words=("tariff", "water bill", "price rise"))
        trust = Topic("council trust", "Whether the city council deserves trust.", words=("council", "mayor"))
        kinds = (
            Persona("pensioner", 100, stance={"water tariff": Normal(-0.5, 0.3)}),
            Persona("renter", 120),
            Persona("engineer", 80, stance={"water tariff": Normal(0.6, 0.2)}),
        )
        self.cell: Cell = Cell("bench", "extract", {}, seed, (tariff, trust), personas=kinds)
        engine = BuiltinEngine(self.cell)
        ticks = 24
        step = engine.advance(engine.begin(), 0, ticks)
        while step.episodes.num_rows < episodes and ticks < 960:
            ticks *= 2
            step = engine.advance(engine.begin(), 0, ticks)
        self.agents, self.episodes = step.agents, step.episodes.slice(max(0, step.episodes.num_rows - episodes))
        rows = self.episodes.to_pylist()
        texts = texts_of(step.episodes, [r[k] for r in rows for k in ("parent", "root") if r[k] is not None])
        names = Names(step.agents)
        # Without words of their own, acts are told by their sentence alone: that is what one call an event would have to read.
        told = [r if r["kind"] in READ_KINDS else {**r, "text": r["sentence"], "parent": None} for r in rows]
        self.passages = passages(told, names, texts)
        self.texts = [p for p in self.passages if p.kind in READ_KINDS]
        topics = [t.name for t in self.cell.topics]
        self.said = {r["episode"]: (topics[r["topic"]], r["stance"]) for r in step.truth["statements"].to_pylist()}
        self.labels = {r["episode"]: r["label"] for r in step.truth["relations"].to_pylist()}

    def true(self, passage: Passage) -> list[tuple[str, str | None, float]]:
        """(kind, topic, value) of what a passage says, from the world's truth."""
        found: list[tuple[str, str | None, float]] = []
        topic, stance = self.said.get(passage.episode, (None, 0.0))
        if topic and passage.kind in {"post", "reply", "quote"}:
            found.append(("opinion", topic, stance))
        if passage.episode in self.labels and passage.target not in {None, passage.actor} and self.labels[passage.episode]:
            about = topic or self.cell.topics[0].name
            found.append(("attitude", about, float(self.labels[passage.episode])))
        return found

    def run(self, name: str, how: str, *, style: Style, size: int, texts: bool = False) -> dict[str, Any]:
        """One strategy that asks about every passage."""
        from simflow.llm.extractor import ModelExtractor

        batch = self.texts if texts else self.passages
        with self.endpoint(style) as room:
            extractor = ModelExtractor(self.cell, room, style=style, size=size)
            result = extractor.extract(batch)
            return self._row(name, how, room, batch, result)

    def cascade(self) -> dict[str, Any]:
        """The strategy that runs use: repeats once, the built-in extractor where it is sure, the model for the rest, an audit."""
        from simflow.llm.cascade import Cascade
        from simflow.llm.extractor import ModelExtractor
        from simflow.run.parts import Parts

        with self.endpoint("compact") as room:
            made = Cascade(self.cell, Parts(self.cell).embedder(), room=room, model=ModelExtractor(self.cell, room, size=BATCH))
            result = made.extract(self.texts)
            row = self._row("cascade", "and no call for what the built-in extractor is sure of", room, self.texts, result)
            return row | {"notes": dict(made.notes())}

    def forgetful(self) -> dict[str, Any]:
        """Recall by tenth of the batch, when the endpoint leaves out up to a third of the lines in the middle of a batch."""
        from simflow.llm.extractor import ModelExtractor

        def forgets(number: int, of: int, text: str) -> bool:
            middle = 1 - abs(2 * (number - 1) / max(of - 1, 1) - 1)
            roll = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32
            return of > BATCH // 2 and roll < middle / 3

        with self.endpoint("compact", forgets) as room:
            first = _Placed(ModelExtractor(self.cell, room, size=BATCH))
            result = first.extract(self.texts)
        return self._places(first, self.texts, result)

    def local(self, texts: int) -> dict[str, Any]:
        """Recall by half of the batch of the small model: whether a line's topic is found at all; of its signs nothing is expected."""
        from simflow.bench.positions import settle
        from simflow.llm.endpoint import Endpoint
        from simflow.llm.extractor import ModelExtractor
        from simflow.llm.local import MODEL
        from simflow.llm.room import Room

        room = Room(dataclasses.replace(Endpoint.from_environment(MODEL), taping="off", timeout=3600.0, patience=7200.0))
        room.ready()
        found = settle(lambda size: ModelExtractor(self.cell, room, size=size), self.texts[:texts], self._on_topic, BATCH)
        return found | {"tokens": sum(u.tokens_in + u.tokens_out for u in room.usage())}

    def scripted(self) -> dict[str, Any]:
        """Recall by half of the batch of the endpoint that knows the truth."""
        from simflow.bench.positions import settle
        from simflow.llm.extractor import ModelExtractor

        with self.endpoint("compact") as room:
            return settle(lambda size: ModelExtractor(self.cell, room, size=size), self.texts, self._on_topic, BATCH)

    def _on_topic(self, passage: Passage, found: Sequence[Finding]) -> bool:
        return self.said[passage.episode][0] in {f.on_topic or f.about for f in found}

    def endpoint(
        self, style: Style, forgets: Callable[[int, int, str], bool] | None = None, *, latency: float = 0.0, concurrency: int = 4
    ) -> Any:
        """A room on a scripted endpoint that knows the truth and takes `latency` seconds to say it."""
        return _endpoint(self, style, forgets, latency, concurrency)

    def _row(self, name: str, how: str, room: Room, batch: Sequence[Passage], result: Extraction) -> dict[str, Any]:
        usage = room.usage()
        tokens_in, tokens_out = sum(u.tokens_in for u in usage), sum(u.tokens_out for u in usage)
        everything = len(self.passages)
        return {
            "strategy": name,
            "how": how,
            "calls": sum(u.calls for u in usage),
            "tokens_in_per_episode": round(tokens_in / everything, 1),
            "tokens_out_per_episode": round(tokens_out / everything, 1),
            "recall": round(self._recall(batch, result.findings), 4),
            "parked": len(result.failed),
            "cost": (tokens_in + RATIO * tokens_out) / everything,
        }

    def _recall(self, batch: Sequence[Passage], findings: Sequence[Finding]) -> float:
        found = {(f.episode, f.kind, f.on_topic or f.about) for f in findings}
        wanted = [(p.episode, kind, topic) for p in batch for kind, topic, _ in self.true(p)]
        return sum(w in found for w in wanted) / max(1, len(wanted))

    def _places(self, placed: _Placed, batch: Sequence[Passage], result: Extraction) -> dict[str, Any]:
        tenths: list[list[Passage]] = [[] for _ in range(10)]
        for passage in batch:
            number, of = placed.places[passage.episode]
            if of >= BATCH // 2:
                tenths[min(9, 10 * number // of)].append(passage)
        topics = {(f.episode, f.on_topic or f.about) for f in result.findings}
        recall = [round(sum((p.episode, self.said[p.episode][0]) in topics for p in tenth) / len(tenth), 4) for tenth in tenths if tenth]
        answered = placed.first_answers
        before = [round(sum(p.episode in answered for p in tenth) / len(tenth), 4) for tenth in tenths if tenth]
        return {
            "lines": sum(map(len, tenths)),
            "first_answer_by_tenth": before,
            "recall_by_tenth": recall,
            "spread": round(max(recall) - min(recall), 4),
            "parked": len(result.failed),
        }


class _Placed:
    """An extractor that remembers where in its first batch each passage stood, and whether that batch's answer accounted for it."""

    def __init__(self, extractor: ModelExtractor) -> None:
        self.extractor = extractor
        self.places: dict[int, tuple[int, int]] = {}
        self.asked = dict[int, int]()

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """As the extractor does."""
        ask = self.extractor.question

        def question(passages: Sequence[Passage], attempt: int = 0) -> Any:
            for number, passage in enumerate(passages):
                self.places.setdefault(passage.episode, (number, len(passages)))
                self.asked[passage.episode] = self.asked.get(passage.episode, 0) + 1
            return ask(passages, attempt)

        self.extractor.question = question  # type: ignore[method-assign]
        return self.extractor.extract(batch)

    @property
    def first_answers(self) -> set[int]:
        """Episodes that were asked about once."""
        return {episode for episode, times in self.asked.items() if times == 1}


class _endpoint:  # noqa: N801 - used as a function, in a with
    def __init__(
        self, world: World, style: Style, forgets: Callable[[int, int, str], bool] | None, latency: float, concurrency: int
    ) -> None:
        from simflow.llm.ontology import codes
        from simflow.llm.reading import clean, handle

        self.world, self.style, self.forgets = world, style, forgets
        self.latency, self.concurrency = latency, concurrency
        self.codes = {(c.kind.name, c.topic): c.number for c in codes(world.cell.extract.relations, world.cell.topics)}
        self.by_line = {(handle(p.actor_id), clean(p.text, 1200)): p for p in world.passages}

    def __enter__(self) -> Room:
        from simflow.llm.endpoint import Endpoint
        from simflow.llm.room import Room
        from simflow.llm.scripted import Script, serving

        self.server = serving(Script(self.answer))
        url = self.server.__enter__()
        endpoint = Endpoint(model="gpt-4o-mini", base_url=url, taping="off", price=(1.0, RATIO), timeout=60.0, concurrency=self.concurrency)
        return Room(endpoint)

    def __exit__(self, *exc: object) -> None:
        self.server.__exit__(None, None, None)

    def answer(self, request: dict[str, Any], _: int) -> Reply:
        """What a model that understands everything would say, with the usage that its provider would bill."""
        import toktok

        from simflow.llm.completion import ENCODING
        from simflow.llm.room import count
        from simflow.llm.scripted import Reply, completion

        rows = request["messages"][-1]["content"].split("\n")
        relations: list[dict[str, Any]] = []
        nothing: list[int] = []
        for row in rows:
            match = re.match(r'(\d+) (@\S+?)(?: .*?)?: (".*")$', row)
            if match is None:
                continue
            number, text = int(match[1]), json.loads(match[3])
            if self.forgets and self.forgets(number, len(rows), text):
                continue
            passage = self.by_line[match[2], text]
            said = [self._relation(number, passage, *one) for one in self.world.true(passage)]
            relations += said
            nothing += [] if said else [number]
        names = ("relations", "without_relation") if self.style == "full" else ("r", "n")
        separators = None if self.style == "full" else (",", ":")
        content = json.dumps({names[0]: relations, names[1]: nothing}, ensure_ascii=False, separators=separators)
        out = toktok.batch_count([content], ENCODING, threads=1)[0]
        return Reply(completion(content, usage=(count(request), out)), hang=self.latency)

    def _relation(self, number: int, passage: Passage, kind: str, topic: str | None, value: float) -> dict[str, Any]:
        from simflow.llm.reading import clean, handle
        from simflow.memory.evidence import label_of

        # Whoever is for or against at all says at least that.
        code, strength = self.codes[kind, topic], max(-2, min(2, round(2 * value))) or label_of(value)
        person = {"attitude": 1}.get(kind)
        if self.style == "compact":
            return {"e": number, "c": code, "v": strength}  # the only person is the first
        quote = " ".join(clean(passage.text, 1200).split()[:6])
        head = {"episode": number, "relation": code, "author": handle(passage.actor_id)}
        return {**head, **({"person": person} if person else {}), "strength": strength, "quote": quote}


def table(result: dict[str, Any]) -> str:
    """The figures for people."""
    from simflow.bench import positions

    lines = [
        f"{result['episodes']:,} episodes, {result['texts']:,} of them texts; a token out costs {result['price_ratio']:g} tokens in",
        "",
    ]
    lines.append(f"{'strategy':<20}{'calls':>7}{'in/episode':>12}{'out/episode':>13}{'recall':>8}{'saving':>8}")
    for row in result["strategies"]:
        figures = f"{row['calls']:>7,}{row['tokens_in_per_episode']:>12,.1f}{row['tokens_out_per_episode']:>13,.1f}"
        lines.append(f"{row['strategy']:<20}{figures}{row['recall']:>8.3f}{row['saving']:>8.1%}  {row['how']}")
    for name, places in result["recall_by_position"].items():
        lines += ["", f"recall by tenth of the batch, {name} model, {places['lines']} lines"]
        lines.append("  first answer  " + " ".join(f"{x:.2f}" for x in places["first_answer_by_tenth"]))
        lines.append("  after repairs " + " ".join(f"{x:.2f}" for x in places["recall_by_tenth"]) + f"   spread {places['spread']:.3f}")
    for name, found in result["recall_by_half"].items():
        lines += positions.table(name, found)
    lines += ["", *(f"{'holds' if held else 'FAILS'}  {name}" for name, held in result["holds"].items())]
    return "\n".join(lines)
