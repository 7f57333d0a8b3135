"""The language as JSON Schema, for editors: completion and hover from the same words as the reference."""

from __future__ import annotations

from typing import Any

from simflow.scenario import values
from simflow.scenario.keys import ROOT

_NUMBER = r"[-+\u2212]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*%?"
_VARIABLE: dict[str, Any] = {"type": "string", "pattern": r"\$\{[^{}]+\}", "description": "Filled from `vars`."}
_UNITS = "|".join(sorted({"t", "tick", "ticks", *values.UNITS}, key=lambda u: (-len(u), u)))
_GIVEN = {
    "type": "object",
    "description": "Depends on another trait: {given: age, 18..34: 20..30, else: 30 ± 5}.",
    "properties": {"given": {"type": "string", "description": "The trait that it depends on."}},
    "required": ["given"],
    "minProperties": 2,
}
_NUMERIC = {
    "description": "A distribution: 0.3, 20..34, 71 ± 6, {beta: [2, 8]}, {given: age, 18..34: 0.2, else: 0.5}.",
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*((\.\.|±|\+-|\+/-)\s*{_NUMBER}\s*)?$"},
        {
            "type": "object",
            "properties": {"beta": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2}},
            "required": ["beta"],
            "additionalProperties": False,
        },
        _GIVEN | {"additionalProperties": {"$ref": "#/$defs/numeric_distribution"}},
        {"$ref": "#/$defs/variable"},
    ],
}
_SHARE = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*$"},
        {"$ref": "#/$defs/variable"},
    ]
}
DEFINITIONS: dict[str, Any] = {
    "variable": _VARIABLE,
    "time": {
        "description": "Ticks (36), a length (36h, 10d, 30min, 2w), or end.",
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": rf"^\s*(end|\d+(\.\d+)?\s*({_UNITS})?)\s*$"},
            {"$ref": "#/$defs/variable"},
        ],
    },
    "numeric_distribution": _NUMERIC,
    "distribution": {
        "description": "A distribution: 0.3, 20..34, 71 ± 6, {beta: [2, 8]}, {a: 60%, b: 40%}, {given: age, ..34: 20..30, else: 30 ± 5}, or one fixed word.",
        "anyOf": [
            {"type": "number"},
            {"type": "string", "pattern": r"^[^()]*$"},
            _NUMERIC["anyOf"][2],
            _GIVEN | {"additionalProperties": {"$ref": "#/$defs/distribution"}},
            {"type": "object", "minProperties": 1, "additionalProperties": _SHARE},
        ],
    },
}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "simflow scenario",
        "description": "One YAML file: people, topics, network, platform, events, memory, extraction, experiment, checks.",
        **ROOT.schema(),
        # A fragment that `from:` names has some of the keys; an editor cannot tell it from a scenario, so nothing is required here.
        "required": [],
        "$defs": DEFINITIONS,
    }
