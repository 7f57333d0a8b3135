"""Trains the classifiers of the built-in extractor: `python -m simflow.evaluation.extract_train` rewrites its `model.json`, the same bytes each time.

Learnt from: texts in phrases by several hands (extract_hands; the training half of the built-in world's is one), each read beside books that know
all other hands; nothing else. Half of the texts are read with a part of the lexicon hidden, because texts from elsewhere use words that nobody has
listed. `--check` trains and compares, byte by byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt

from simflow.evaluation import extract_hands as hands
from simflow.memory.extractors import features, model
from simflow.memory.extractors.lexicon import LANGUAGES, Lexicon, Phrase, load, thin
from simflow.plan import Language, Topic
from simflow.world.language import Grammar
from simflow.world.language.tables import Tables

TOPICS = {
    "en": (Topic("water tariff", words=("tariff",)), Topic("night buses")),
    "pt": (Topic("tarifa da água", words=("tarifa",)), Topic("ônibus noturno")),
    "es": (Topic("tarifa del agua", words=("tarifa",)), Topic("autobús nocturno")),
    "uk": (Topic("тариф на воду", words=("тариф",)), Topic("нічний автобус")),
}
TEXTS = 200
"""Posts, and as many answers, by each hand at each of `HIDDEN`."""
HIDDEN = (0.0, 0.5)
"""Shares of the lexicon that are hidden from texts, in turn."""
AGREE, DISAGREE, NEUTRAL = 0.45, 0.8, 0.15
"""The world's own bounds: distances of stances that count as agreement and disagreement, and of a stance from 0 that counts as undecided."""
Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


class Sample(NamedTuple):
    """Generated texts: posts, replies to them, and what was meant (0, 1, 2 for -1, 0, +1)."""

    topics: tuple[Topic, ...]
    posts: list[str]
    replies: list[str]
    topic: npt.NDArray[np.int16]
    stance: Labels
    reply_stance: Labels
    relation: Labels


def sample(tables: Tables, count: int, seed: int) -> Sample:
    """`count` posts and as many replies, written with what stands in the tables."""
    topics = TOPICS[tables.code]
    grammar = Grammar(Language(code=tables.code), topics, seed, tables)
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, len(topics), count).astype(np.int16)
    stance = np.clip(rng.normal(0, 0.55, count), -1, 1)
    near, far = stance + rng.normal(0, 0.25, count), rng.normal(0, 0.55, count)
    other = np.clip(np.where(rng.random(count) < 0.5, near, far), -1, 1)
    gap = np.abs(other - stance)
    relation = np.where(gap < AGREE, 1, np.where(gap > DISAGREE, -1, 0)).astype(np.int8)
    kinds = np.where(rng.random(count) < 0.75, "reply", "quote").tolist()
    posts = grammar.write(np.arange(count, dtype=np.int64), ["post"] * count, topic, stance, np.full(count, 2, np.int8)).text
    replies = grammar.write(np.arange(count, dtype=np.int64) + 10**6, kinds, topic, other, relation).text
    return Sample(topics, posts, replies, topic, _classes(stance), _classes(other), relation.astype(np.int64) + 1)


def _classes(stances: Matrix) -> Labels:
    found: Labels = np.where(stances >= NEUTRAL, 2, np.where(stances <= -NEUTRAL, 0, 1)).astype(np.int64)
    return found


def hide(lexicon: Lexicon, share: float, turn: int) -> Lexicon:
    """The lexicon without a keyed share of its phrases."""

    def kept(phrase: Phrase) -> bool:
        digest = hashlib.blake2b(f"{turn} {' '.join(phrase)}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") / 2**32 >= share

    return thin(lexicon, kept)


class _Read(NamedTuple):
    # Replies of one sample, of their own words and as answers, and their parents; what was meant.
    own: list[features.Reading]
    said: list[features.Reading]
    posts: list[features.Reading]
    made: Sample


def train() -> dict[str, Matrix]:
    """Weights of each part of the model."""
    found = [one for code in LANGUAGES for number in hands.learnt(code) for one in _read(code, number)]
    first: dict[str, list[tuple[Matrix, Labels]]] = {"stance": [], "answer": []}
    for one in found:
        first["stance"] += [_heard(one.posts, one.made.stance), _heard(one.own, one.made.reply_stance)]
        first["answer"].append(_heard(one.said, one.made.relation))
    weights = {part: fit(*_joined(pairs)) for part, pairs in first.items()}
    half = model.Model("half", weights)
    relation, reply = [], []
    for own, said, posts, made in found:
        pairs = [
            model.joint(_odds(half, "stance", o), _odds(half, "answer", s), _odds(half, "stance", p), (_value(half, o), _value(half, p)))
            for o, s, p in zip(own, said, posts, strict=True)
        ]
        known = [i for i, (o, p) in enumerate(zip(own, posts, strict=True)) if o.heard and p.heard]
        relation.append((np.array([pairs[i][0] for i in known]), made.relation[known]))
        reply.append((np.array([r for _, r in pairs]), made.reply_stance))
    return {**weights, "relation": fit(*_joined(relation)), "reply": fit(*_joined(reply))}


def _read(code: str, number: int) -> Iterator[_Read]:
    # Texts by one hand, beside books that know all others.
    others = model.Model("others", {}, {code: tuple(phrases(code, without=number))})
    stance, answer = (others.book(code, part) for part in ("stance", "answer"))
    for turn, share in enumerate(HIDDEN):
        lexicon = hide(load(code), share, turn)
        made = sample(hands.hand(code, number), TEXTS, 11 + turn)
        names = [(t.name, *t.words) for t in made.topics]
        topics = [names[k] for k in made.topic.tolist()]
        yield _Read(
            [features.stance(features.body(text, topic), lexicon, topic, stance) for text, topic in zip(made.replies, topics, strict=True)],
            [features.answer(text, lexicon, answer) for text in made.replies],
            [features.stance(text, lexicon, topic, stance) for text, topic in zip(made.posts, topics, strict=True)],
            made,
        )


def _odds(half: model.Model, part: str, reading: features.Reading) -> Matrix:
    return half.probabilities(part, reading.numbers) if reading.heard else np.full(3, 1 / 3)


def _value(half: model.Model, reading: features.Reading) -> float:
    strong = reading.numbers[3] + reading.numbers[4] > 0
    return model.value(_odds(half, "stance", reading), strong=bool(strong)) if reading.heard else 0.0


def phrases(code: str, *, without: int = hands.UNSEEN) -> list[tuple[str, str]]:
    """(heading, phrase) that the books of one language know beside their own: those of every hand but `without`."""
    return [pair for number in hands.learnt(code) if number != without for pair in hands.said(code, number)]


def known() -> dict[str, dict[str, list[str]]]:
    """`phrases` of the finished extractor, by language and heading."""
    found: dict[str, dict[str, list[str]]] = {}
    for code in LANGUAGES:
        table = found.setdefault(code, {})
        for heading, phrase in phrases(code):
            table.setdefault(heading, []).append(phrase)
    return found


def _heard(readings: list[features.Reading], labels: Labels) -> tuple[Matrix, Labels]:
    rows = [i for i, r in enumerate(readings) if r.heard]
    return np.array([readings[i].numbers for i in rows]).reshape(len(rows), len(readings[0].numbers)), labels[rows]


def _joined(pairs: list[tuple[Matrix, Labels]]) -> tuple[Matrix, Labels]:
    return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])


def fit(inputs: Matrix, labels: Labels, penalty: float = 1.0, steps: int = 600, kinds: int = 3) -> Matrix:
    """Multinomial logistic regression with an L2 penalty, by Adam over all rows: (inputs + 1, kinds)."""
    rows = np.c_[inputs, np.ones(len(inputs))]
    wanted = np.eye(kinds)[labels]
    table = np.zeros((rows.shape[1], kinds))
    mean, square = np.zeros_like(table), np.zeros_like(table)
    for step in range(1, steps + 1):
        scores = rows @ table
        odds = np.exp(scores - scores.max(1, keepdims=True))
        slope = rows.T @ (odds / odds.sum(1, keepdims=True) - wanted) / len(rows)
        slope[:-1] += penalty / len(rows) * table[:-1]
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope * slope
        table -= 0.05 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return table


def text() -> str:
    """The model file, trained anew."""
    about = {
        "trained on": "texts in phrases by other hands, each read beside what all others know",
        "hands": {code: list(hands.learnt(code)) for code in LANGUAGES},
        "texts": TEXTS,
        "hidden": list(HIDDEN),
        "inputs": inputs(),
    }
    return model.dump(train(), known(), about)


def inputs() -> str:
    """Fingerprint of the lexicons, the books and the hands that the weights were trained with: where it differs, the command has to run again."""
    folder, package = resources.files(model.__package__ or ""), resources.files(__package__)
    read = [folder / f"{kind}/{code}.{ending}" for kind, ending in (("lexicons", "toml"), ("phrases", "txt")) for code in LANGUAGES]
    read += [package / f"hands/{code}-{number}.toml" for code in LANGUAGES for number in hands.learnt(code) if number]
    return hashlib.sha256(b"".join(file.read_bytes() for file in read)).hexdigest()[:16]


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail unless training gives the same bytes.")
def main(check: bool) -> None:
    """Train the built-in extractor and write its model.json."""
    path = Path(model.__file__).with_name("model.json")
    made = text()
    if not check:
        path.write_text(made, "utf-8")
        click.echo(f"wrote {path.name}, sha256 {hashlib.sha256(made.encode()).hexdigest()[:16]}")
    elif path.read_text("utf-8") != made:
        raise click.ClickException("training gives another model.json than the one that is there: run without --check")
    else:
        click.echo(f"the same, byte by byte: sha256 {hashlib.sha256(made.encode()).hexdigest()[:16]}")


if __name__ == "__main__":
    main()
