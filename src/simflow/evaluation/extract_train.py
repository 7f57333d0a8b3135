"""Trains the classifiers of the built-in extractor: `python -m simflow.evaluation.extract_train` rewrites its `model.json`, the same bytes each time.

Learnt from: texts generated from the half of the built-in world's phrases that is meant for it (`split: train`), and the phrases of the books, in
four languages; nothing else. Texts are read with a random part of the lexicon hidden and with books that do not know that half, phrases with
books that do not know them (extract_books), because texts from elsewhere use words that nobody has listed. `--check` trains and compares, byte by byte.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt

from simflow.evaluation.extract_books import unknown
from simflow.memory.extractors import features, model
from simflow.memory.extractors.lexicon import LANGUAGES, Lexicon, Phrase, load, thin
from simflow.plan import Language, Topic
from simflow.world.language import Grammar, tables

TOPICS = {
    "en": (Topic("water tariff", words=("tariff",)), Topic("night buses")),
    "pt": (Topic("tarifa da água", words=("tarifa",)), Topic("ônibus noturno")),
    "es": (Topic("tarifa del agua", words=("tarifa",)), Topic("autobús nocturno")),
    "uk": (Topic("тариф на воду", words=("тариф",)), Topic("нічний автобус")),
}
TEXTS = 150
HIDDEN = (0.2, 0.5, 0.7, 0.9)
"""Shares of the lexicon that are hidden from generated texts, in turn."""
BARE = (0.0, 0.5)
"""Shares that are hidden from the phrases of the books."""
HEADINGS = {
    **{f"{table}.{level}": heading for table in ("stance", "negated") for level, heading in zip(tables.LEVELS, ("against", "against", "neutral", "for", "for"), strict=True)},
    **{f"{table}.{side}": side for table in ("reply", "quote") for side in ("agree", "mixed", "disagree")},
    "pro": "reason for", "con": "reason against", "open": "reason open", "sarcasm": "against",
    "openers": "aside", "closers": "aside", "frames": "aside",
}  # fmt: skip
"""Tables of the grammar, and the headings under which the books of the extractor keep such phrases."""
_GAP = re.compile(r"\{\w+\}")
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


def sample(code: str, split: str, count: int, seed: int) -> Sample:
    """`count` posts and as many replies in one language, written with one half of its phrases."""
    topics = TOPICS[code]
    grammar = Grammar(dataclasses.replace(Language(code=code), split=split), topics, seed)  # type: ignore[arg-type]
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


def train() -> dict[str, Matrix]:
    """Weights of each part of the model."""
    first: dict[str, list[tuple[Matrix, Labels]]] = {"stance": [], "answer": []}
    replies: list[tuple[list[features.Reading], list[features.Reading], list[features.Reading], Sample]] = []
    for code in LANGUAGES:
        for turn, share in enumerate(HIDDEN):
            lexicon = hide(load(code), share, turn)
            made = sample(code, "train", TEXTS, 11 + turn)
            names = [(t.name, *t.words) for t in made.topics]
            posts = [features.stance(text, lexicon, names[k]) for text, k in zip(made.posts, made.topic.tolist(), strict=True)]
            own = [
                features.stance(features.body(text, names[k]), lexicon, names[k])
                for text, k in zip(made.replies, made.topic.tolist(), strict=True)
            ]
            said = [features.answer(text, lexicon) for text in made.replies]
            replies.append((own, said, posts, made))
            first["stance"].append(_heard(posts, made.stance))
            first["answer"].append(_heard(said, made.relation))
            # What begins without a word of answer says neither.
            bare = [features.answer(text, lexicon) for text in made.posts[: TEXTS // 4]]
            first["answer"].append(_heard(bare, np.ones(len(bare), np.int64)))
        for turn, share in enumerate(BARE):
            for part, rows in first.items():
                alone = list(unknown(hide(load(code), share, turn), part))
                rows.append(_heard([u.reading for u in alone], np.array([u.label for u in alone])))
    weights = {part: fit(*_joined(pairs)) for part, pairs in first.items()}
    half = model.Model("half", weights)
    relation, reply = [], []
    for own, said, posts, made in replies:
        pairs = [
            model.joint(_odds(half, "stance", o), _odds(half, "answer", s), _odds(half, "stance", p), (_value(half, o), _value(half, p)))
            for o, s, p in zip(own, said, posts, strict=True)
        ]
        known = [i for i, (o, p) in enumerate(zip(own, posts, strict=True)) if o.heard and p.heard]
        relation.append((np.array([pairs[i][0] for i in known]), made.relation[known]))
        reply.append((np.array([r for _, r in pairs]), made.reply_stance))
    return {**weights, "relation": fit(*_joined(relation)), "reply": fit(*_joined(reply))}


def _odds(half: model.Model, part: str, reading: features.Reading) -> Matrix:
    return half.probabilities(part, reading.numbers) if reading.heard else np.full(3, 1 / 3)


def _value(half: model.Model, reading: features.Reading) -> float:
    strong = reading.numbers[3] + reading.numbers[4] > 0
    return model.value(_odds(half, "stance", reading), strong=bool(strong)) if reading.heard else 0.0


def known() -> dict[str, dict[str, list[str]]]:
    """The training half's phrases by language and heading, gaps left out: the books of the finished extractor know them beside their own."""
    found: dict[str, dict[str, list[str]]] = {}
    for code in LANGUAGES:
        table = found.setdefault(code, {})
        for name, phrases in tables.load(code, "train").phrases.items():
            heading = HEADINGS.get(name, HEADINGS.get(name.split(".")[0]))
            if heading is not None:
                table.setdefault(heading, []).extend(" ".join(_GAP.sub(" ", phrase).split()) for phrase in phrases)
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
        "trained on": "the train half of the built-in world's phrases, and the books",
        "languages": list(LANGUAGES),
        "texts": TEXTS * len(HIDDEN),
        "hidden": list(HIDDEN),
        "inputs": inputs(),
    }
    return model.dump(train(), known(), about)


def inputs() -> str:
    """Fingerprint of the lexicons and the books that the weights were trained with: where it differs, the command has to run again."""
    folder = resources.files(model.__package__ or "")
    names = [f"{kind}/{code}.{ending}" for kind, ending in (("lexicons", "toml"), ("phrases", "txt")) for code in LANGUAGES]
    return hashlib.sha256(b"".join(folder.joinpath(name).read_bytes() for name in names)).hexdigest()[:16]


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
