"""What tokens cost: a dated table that ships, one of the user's beside it. A model that neither knows is an error, never free."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simflow.errors import BadInput
from simflow.llm.endpoint import Endpoint

TABLE = "date, source, models: {NAME: {input, output}}"
"""What a table of prices holds."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD a million tokens; `cached` for input that the provider served from its prompt cache. `source` says where it was read."""

    input: float
    output: float
    cached: float
    source: str

    def of(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """USD for a call; `tokens_cached` are part of `tokens_in`."""
        return ((tokens_in - tokens_cached) * self.input + tokens_cached * self.cached + tokens_out * self.output) / 1e6


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")
    date: Any
    source: str
    models: dict[str, _Row]


def price(model: str, endpoint: Endpoint | None = None) -> Price:
    """The price of `model`: SIMFLOW_LLM_PRICE, the user's table, the newest table that ships. Raises BadInput if nobody knows it."""
    if endpoint and endpoint.price:
        return Price(*endpoint.price, cached=endpoint.price[0], source="SIMFLOW_LLM_PRICE")
    known: dict[str, Price] = dict(shipped())
    if endpoint and endpoint.prices:
        known |= _read(endpoint.prices.name, _text(endpoint.prices))
    if model in known:
        return known[model]
    near = difflib.get_close_matches(model, known, n=3, cutoff=0.3)
    raise BadInput(
        f"nobody knows what the model '{model}' costs",
        hint=f"{len(known)} models have a price"
        + (f", nearest of them: {', '.join(near)}" if near else "")
        + "; give it one with SIMFLOW_LLM_PRICE=input,output in USD a million tokens (0,0 for a model of your own), or in a table: "
        f"SIMFLOW_LLM_PRICES=FILE, a YAML file of {TABLE}",
    )


@cache
def shipped() -> dict[str, Price]:
    """Prices of the newest table in this package, by model."""
    tables = sorted(
        (f for f in resources.files("simflow.llm").joinpath("prices").iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name
    )
    return _read(tables[-1].name, tables[-1].read_text("utf-8"))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the price table {path} cannot be read: {error}") from error


def _read(name: str, text: str) -> dict[str, Price]:
    hint = f"{TABLE}, in USD a million tokens"
    try:
        table = _Table.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise BadInput(f"the price table {name} is no YAML: {' '.join(str(error).split())}", hint=hint) from None
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc'])) or 'all of it'}: {e['msg']}" for e in error.errors(include_url=False)]
        raise BadInput(f"the price table {name} cannot be used: {'; '.join(wrong[:3])}", hint=hint) from None
    source = f"{name} ({table.date}): {table.source}"
    return {
        model: Price(row.input, row.output, row.input if row.cached is None else row.cached, source) for model, row in table.models.items()
    }
