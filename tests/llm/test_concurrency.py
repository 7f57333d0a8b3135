"""`simflow bench concurrency`: however many calls are in flight, the tables are the same bytes; its figures in the manual are its own."""

from __future__ import annotations

import json
import re

import pytest

from simflow.bench.concurrency import BEGIN, CONCURRENCIES, END, KEYS, measure, put, table
from simflow.errors import BadInput


@pytest.fixture(scope="module")
def measured():
    return measure(120, batch=4, latency=0.001, concurrencies=(1, 8))


def test_tables_do_not_depend_on_how_many_calls_are_in_flight(measured):
    one, many = measured["rows"]
    assert (one["concurrency"], many["concurrency"]) == (1, 8)
    assert one["tables"] == many["tables"]
    assert measured["same_tables"] is True
    assert one["calls"] == many["calls"] >= measured["texts"] / 4
    assert measured["texts"] > 20


def test_every_key_is_documented_and_every_documented_key_is_there(measured, root):
    found = {k for k in measured if k != "rows"} | {f"rows[].{k}" for row in measured["rows"] for k in row}
    assert found == set(KEYS)
    manual = (root / "docs/models.md").read_text("utf-8")
    for key, meaning in KEYS.items():
        assert f"| `{key}` | {meaning} |" in manual
    json.dumps(measured)


def test_figures_of_the_manual_are_a_measurement(root):
    """They hold together, as typed ones would only with luck: rates are calls in parts of seconds, gains are of the first row."""
    manual = (root / "docs/models.md").read_text("utf-8")
    shown = manual.partition(BEGIN)[2].partition(END)[0]
    assert "the same claims and edges to the byte" in shown
    rows = [
        [float(cell.replace(",", "")) for cell in line.strip("| ").split("|")] for line in shown.splitlines() if re.match(r"\| \d", line)
    ]
    assert tuple(int(row[0]) for row in rows) == CONCURRENCIES
    assert len({row[1] for row in rows}) == 1
    for _, calls, seconds, _, rate, gain in rows:
        assert abs(rate * seconds / calls - 1) < 0.02
        assert abs(gain * seconds / rows[0][2] - 1) < 0.02


def test_figures_are_put_between_their_marks_and_nowhere_else(measured, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    put(page, measured)
    put(page, measured)
    text = page.read_text()
    assert "\n".join(table(measured)) in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count(BEGIN) == text.count(END) == 1
    page.write_text("no place\n")
    with pytest.raises(BadInput, match="no place for the figures"):
        put(page, measured)
    assert page.read_text() == "no place\n"
