"""The language as JSON Schema, for editors: completion and hover from the same words as the reference."""

from __future__ import annotations

import copy
from typing import Any

from simflow.scenario import values
from simflow.scenario.keys import ROOT

_NUMBER = r"[-+\u2212]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*%?"
_VARIABLE: dict[str, Any] = {"type": "string", "pattern": r"\$\{[^{}]+\}"}
_UNITS = "|".join(sorted({"t", "tick", "ticks", *values.UNITS}, key=lambda u: (-len(u), u)))
_GIVEN = {
    "type": "object",
    "properties": {"given": {"type": "string", "description": "The trait that it depends on."}},
    "required": ["given"],
    "minProperties": 2,
}
_NUMERIC = {
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
    # Without words of their own: an editor would show them instead of what the key itself says.
    "variable": _VARIABLE,
    "time": {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": rf"^\s*(end|\d+(\.\d+)?\s*({_UNITS})?)\s*$"},
            {"$ref": "#/$defs/variable"},
        ],
    },
    "numeric_distribution": _NUMERIC,
    "distribution": {
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
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "simflow scenario",
        "description": "One YAML file: people, topics, network, platform, events, memory, extraction, experiment, checks.",
        **copy.deepcopy(ROOT.schema()),
        # A fragment that `from:` names has some of the keys; an editor cannot tell it from a scenario, so nothing is required here.
        "required": [],
        "$defs": {name: {"title": name.replace("_", " "), **found} for name, found in copy.deepcopy(DEFINITIONS).items()},
    }
    _titled(whole)
    return whole


def _titled(value: Any) -> None:
    # Alternatives without names look alike to language servers, which then show all of them instead of what the key says.
    if isinstance(value, dict):
        for branch in value.get("anyOf", ()):
            if "$ref" not in branch:
                kind = branch.get("type", "choice" if "enum" in branch else "value")
                branch.setdefault("title", " or ".join(kind) if isinstance(kind, list) else kind)
        for inner in value.values():
            _titled(inner)
    elif isinstance(value, list):
        for inner in value:
            _titled(inner)
