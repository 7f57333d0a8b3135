"""`simflow bench embedders`: speed, paraphrases, and agreement with the sentence model, side by side."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PAIRS = (
    ("The water bill is far too high.", "People pay too much for their water."),
    ("Repair the pipes before you raise the price.", "First fix the leaks, then ask us for more money."),
    ("I do not trust the city council.", "Our councillors cannot be believed."),
    ("The night train was cancelled again.", "Once more there was no service after midnight."),
    ("Pensioners cannot afford this.", "Old people on small incomes are unable to pay."),
    ("More trees would cool the streets.", "Planting along the roads brings temperatures down."),
    ("The mayor promised a new school.", "A further place to teach children was pledged by the head of the town."),
    ("Shops are closing in the old town.", "Businesses in the historic centre are giving up."),
    ("She quit her job at the bank.", "She no longer works for a lender."),
    ("The meeting was moved to Friday.", "They will gather at the end of the week instead."),
    ("He plays the piano every evening.", "After dinner he always makes music on the keys."),
    ("Parking downtown is impossible.", "You never find a space for the car in the centre."),
    ("The vaccine is safe.", "Getting the jab carries hardly any risk."),
    ("Rents have doubled in ten years.", "Living in a flat costs twice what it did a decade ago."),
    ("The bridge will be closed for repairs.", "Nobody can cross the river there while it is being mended."),
    ("Cycling is healthier than driving.", "Going by bike does you more good than taking the car."),
    ("The new tax hurts small farms.", "Little agricultural holdings suffer from the levy."),
    ("Our team lost the final.", "We were beaten in the deciding match."),
    ("It rained all weekend.", "Saturday and Sunday were wet from start to finish."),
    ("The museum is free on Mondays.", "You need no ticket for the gallery at the start of the week."),
    ("My phone battery dies too fast.", "The charge of my mobile hardly lasts."),
    ("The river is polluted by factories.", "Industry makes the stream dirty."),
    ("Teachers deserve higher pay.", "Those who instruct our children should earn more."),
    ("The concert was sold out in minutes.", "All tickets for the show were gone at once."),
)
"""Hand-written: a sentence and the same thing in other words."""


@click.command()
@click.option("--names", default="builtin,static", show_default=True, help="Embedders, by the names of their entry points.")
@click.option("--texts", default=1500, show_default=True, type=click.IntRange(min=10), help="Distinct sentences that are timed.")
@click.option(
    "--language",
    default="en",
    show_default=True,
    type=click.Choice(["en", "pt", "es", "uk"]),
    help="Language of the sentences that are timed.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def embedders(names: str, texts: int, language: str, *, as_json: bool) -> None:
    """Sentences a CPU second, share of paraphrases that are nearest to their sentence, correlation of cosines with the first embedder."""
    from simflow.memory.embedders import named

    found: list[dict[str, Any]] = []
    first: npt.NDArray[np.float64] | None = None
    for name in names.split(","):
        began = time.process_time()
        embedder = named(name.strip())
        embedder.embed(["warm"])
        opened = time.process_time() - began
        row, cosines = measure(embedder, sentences(texts, language))
        first = cosines if first is None else first
        found.append(
            {"name": name, "id": embedder.id, "open_cpu_s": round(opened, 2), **row, "agreement": round(correlation(first, cosines), 3)}
        )
    if as_json:
        click.echo(json.dumps({"texts": texts, "language": language, "embedders": found}, indent=1))
        return
    click.echo(f"{'':10} {'dimensions':>10} {'texts / CPU s':>14} {'tokens / CPU s':>15} {'paraphrases':>12} {'agreement':>10}")
    for row in found:
        click.echo(
            f"{row['name']:10} {row['dimension']:>10} {row['texts_per_cpu_s']:>14,.0f} {row['tokens_per_cpu_s']:>15,.0f}"
            f" {row['paraphrase_recall_at_1']:>12.3f} {row['agreement']:>10.3f}"
        )


def sentences(count: int, language: str = "en") -> list[str]:
    """Distinct rendered sentences of the built-in language, as a run has them."""
    import numpy as np

    from simflow.episode import sentence
    from simflow.plan import Language, Topic
    from simflow.world.language import Grammar

    grammar = Grammar(Language(language), (Topic("water tariff", words=("water bill",)), Topic("night trains")), 7)
    rng = np.random.default_rng(7)
    found: dict[str, None] = {}
    for start in range(0, 4 * count, count):
        keys = np.arange(start, start + count, dtype=np.int64)
        texts = grammar.write(
            keys, ["post"] * count, (keys % 2).astype(np.int16), rng.uniform(-1, 1, count), np.full(count, 2, np.int8)
        ).text
        found.update(
            (sentence("post", f"rosa{k % 300}", text=t, language=language), None) for k, t in zip(keys.tolist(), texts, strict=True)
        )
    return list(found)[:count]


def measure(embedder: Any, texts: list[str]) -> tuple[dict[str, Any], npt.NDArray[np.float64]]:
    """Figures of one embedder, and the cosines of all pairs of the hand-written sentences."""
    import numpy as np

    from simflow.memory.tokens import counts

    began = time.process_time()
    embedder.embed(texts)
    spent = time.process_time() - began
    said, other = (embedder.embed([pair[side] for pair in PAIRS]) for side in (0, 1))
    hits = np.argmax(said @ other.T, axis=1) == np.arange(len(PAIRS))
    everything = np.concatenate([said, other]).astype(np.float64)
    cosines = (everything @ everything.T)[np.triu_indices(len(everything), 1)]
    figures = {
        "dimension": embedder.dimension,
        "texts_per_cpu_s": round(len(texts) / spent, 1),
        "tokens_per_cpu_s": round(sum(counts(texts)) / spent, 1),
        "paraphrase_recall_at_1": round(float(hits.mean()), 4),
    }
    return figures, cosines


def correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Rank correlation (Spearman) of two lists of numbers."""
    import numpy as np

    return float(np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1])
