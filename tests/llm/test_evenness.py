"""A batch is read as well at its end as at its beginning, or it becomes smaller."""

from __future__ import annotations

import json

import jsonschema
import pytest
from pydantic import ValidationError

from simflow.bench.positions import settle
from simflow.llm import reading
from simflow.llm.evenness import Evenness, difference
from simflow.llm.extractor import ModelExtractor
from simflow.llm.ontology import codes, shape
from simflow.llm.scripted import Script, completion, serving
from simflow.plan import DEFAULT_RELATIONS, Topic

TOPICS = (Topic("water tariff"), Topic("council trust"))


def tired(after):
    """A model that finds nothing in a line beyond the first few, and says so."""

    def answer(request, _, numbers):
        asked = numbers(request)
        return completion(json.dumps({"r": [{"e": e, "c": 1, "v": 1} for e in asked if e <= after], "n": [e for e in asked if e > after]}))

    return answer


def test_interval_of_a_difference_is_newcombes():
    assert difference((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert difference((0, 0), (3, 4)) == (-1.0, 1.0)


@pytest.mark.parametrize(("second", "uneven"), [(100, False), (92, False), (80, True)])
def test_halves_that_surely_differ_by_more_than_five_points_are_uneven(second, uneven):
    halves = Evenness()
    for n in range(100):
        halves.note([True, False, n < second])
    assert halves.lines == [100, 100]
    assert halves.uneven is uneven


@pytest.mark.parametrize(("after", "settled"), [(20, 20), (12, 10), (3, 2)])
def test_batch_becomes_as_small_as_the_model_reads_evenly(kit, after, settled):
    script = Script(lambda r, n: tired(after)(r, n, kit.numbers))
    batch = kit.passages(300, replies=False)
    with serving(script) as url:
        extractor = ModelExtractor(kit.a_cell(), kit.room_at(url), size=20)
        result = extractor.extract(batch)
    kit.accounted(batch, result)
    assert extractor.settled == settled
    assert bool(extractor.notes().get("uneven")) == (settled < 20)


def test_measure_reads_each_line_in_both_halves_and_stops_at_the_first_flat_size(kit):
    script = Script(lambda r, n: tired(4)(r, n, kit.numbers))
    with serving(script) as url:
        room = kit.room_at(url)
        found = settle(
            lambda size: ModelExtractor(kit.a_cell(), room, size=size), kit.passages(80, replies=False), lambda _, found: bool(found), 20
        )
    assert found["settles_on"] == 5
    first, second, third = found["sizes"]
    assert (first["recall_first_half"], first["recall_second_half"], first["lines"]) == (0.4, 0.0, 80)
    assert (second["difference"], second["flat"]) == (1.0, False)
    assert (third["difference"], third["interval"], third["flat"]) == (0.0, [0.0, 0.0], True)


def test_each_line_is_required_by_the_schema_and_closed():
    known = codes(DEFAULT_RELATIONS, TOPICS)
    model = shape(known, 3, 2, "each")
    schema = model.model_json_schema()
    assert schema["required"] == ["1", "2", "3"]
    jsonschema.validate(json.loads(reading.stable(TOPICS, known, "each").rsplit("Example answer:\n", 1)[1]), schema)
    for bad in ({"1": [], "2": []}, {"1": [[99, 1]], "2": [], "3": []}, {"1": [[1, 3]], "2": [], "3": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)
    with pytest.raises(ValidationError):
        model.model_validate_json('{"4": []}')


def test_each_line_that_is_left_out_or_unusable_is_asked_again(kit):
    def answer(request, n):
        if n:
            return completion(json.dumps({str(e): [[1, 1]] for e in kit.numbers(request)}))
        return completion('{"1": [[1, 2]], "2": [], "3": [[77, 1]]}')

    script = Script(answer)
    batch = kit.passages(4, replies=False)
    with serving(script) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), style="each", size=4).extract(batch)
    kit.accounted(batch, result)
    assert [len(kit.numbers(r)) for r in script.requests] == [4, 2]
    assert sorted(f.value for f in result.findings) == [0.5, 0.5, 1.0]
    assert len(result.nothing) == 1
