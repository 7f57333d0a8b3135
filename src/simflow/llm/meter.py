"""What has been spent, by phase and model, and the hard stop that a limit means."""

from __future__ import annotations

import json
import math
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from simflow.errors import Stopped
from simflow.llm.prices import Price
from simflow.plan import Limits
from simflow.ports import Usage
from simflow.runs.ledger import append


class LimitReached(Stopped):
    """The scenario's limit in tokens or money is used up; what is committed and every answer received stay."""

    exit_code = 1


@dataclass(slots=True)
class _Row:
    calls: int = 0
    replayed: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class Meter:
    """Counts and stops. Safe for threads.

    ledger: an append-only file of what this cell has ever spent, so that a limit holds over restarts; None keeps nothing.
    """

    def __init__(self, limits: Limits | None = None, ledger: Path | None = None) -> None:
        self.limits = limits or Limits()
        self.ledger = ledger
        self.spent_tokens = 0
        self.spent_cost = 0.0
        self._flying_tokens = 0
        self._flying_cost = 0.0
        self._rows: dict[tuple[str, str], _Row] = defaultdict(_Row)
        self._lock = threading.Lock()
        self._before()

    def take_off(self, tokens: int, price: Price) -> None:
        """Count a call of about `tokens` prompt tokens as in flight. Raises LimitReached if it would go past a limit."""
        cost = price.of(tokens, 0, 0)
        with self._lock:
            self._within(tokens, cost)
            self._flying_tokens += tokens
            self._flying_cost += cost

    def land(self, tokens: int, price: Price) -> None:
        """The call that `take_off` counted is over, with or without an answer."""
        with self._lock:
            self._flying_tokens -= tokens
            self._flying_cost -= price.of(tokens, 0, 0)

    def lost(self, phase: str, model: str, price: Price, tokens: int) -> None:
        """An answer was begun and did not come whole: its prompt of about `tokens` will be billed all the same.

        Raises LimitReached if no other try may be paid for.
        """
        cost = price.of(tokens, 0, 0)
        with self._lock:
            row = self._rows[phase, model]
            row.tokens_in += tokens
            row.cost += cost
            self._add(phase, model, tokens, cost)
            self._within(0, 0.0)

    def charge(self, phase: str, model: str, price: Price, tokens_in: int, tokens_cached: int, tokens_out: int) -> None:
        """An answer was paid for."""
        cost = price.of(tokens_in, tokens_cached, tokens_out)
        with self._lock:
            row = self._rows[phase, model]
            row.calls += 1
            row.tokens_in += tokens_in
            row.tokens_cached += tokens_cached
            row.tokens_out += tokens_out
            row.cost += cost
            self._add(phase, model, tokens_in + tokens_out, cost)

    def replayed(self, phase: str, model: str) -> None:
        """A recorded answer was used; nothing was paid."""
        with self._lock:
            self._rows[phase, model].replayed += 1

    def failed(self, phase: str, model: str) -> None:
        """A call brought no usable answer."""
        with self._lock:
            self._rows[phase, model].failed += 1

    def usage(self) -> tuple[Usage, ...]:
        """What this process has spent, by phase and model."""
        with self._lock:
            return tuple(
                Usage(
                    phase, model, row.calls, row.replayed, row.failed, row.tokens_in, row.tokens_cached, row.tokens_out, round(row.cost, 9)
                )
                for (phase, model), row in sorted(self._rows.items())
            )

    def _within(self, tokens: int, cost: float) -> None:
        for what, limit, used in (
            ("tokens", self.limits.tokens, self.spent_tokens + self._flying_tokens + tokens),
            ("USD", self.limits.cost, self.spent_cost + self._flying_cost + cost),
        ):
            if limit is not None and used > limit:
                so_far = f"{self.spent_tokens:,} tokens, {self.spent_cost:.4f} USD spent"
                ahead = f", and the next call asks about {tokens:,} tokens" if tokens else ""
                raise LimitReached(
                    f"the limit of {limit:,} {what} is reached ({so_far}{ahead})",
                    hint="raise `limits:` and run again: committed windows and every answer received are kept",
                )

    def _add(self, phase: str, model: str, tokens: int, cost: float) -> None:
        self.spent_tokens += tokens
        self.spent_cost += cost
        if self.ledger:
            self.ledger.parent.mkdir(parents=True, exist_ok=True)
            append(self.ledger, json.dumps({"phase": phase, "model": model, "tokens": tokens, "cost": cost}))

    def _before(self) -> None:
        if not self.ledger or not self.ledger.exists():
            return
        for line in self.ledger.read_text("utf-8").splitlines():
            try:
                row = json.loads(line)
                tokens, cost = int(row["tokens"]), float(row["cost"])
            except (ValueError, KeyError, TypeError, OverflowError):
                continue  # a line cut by a crash; the answer that it counted is asked again
            if tokens >= 0 and 0 <= cost < math.inf:  # whatever else a line says would lift the limit
                self.spent_tokens += tokens
                self.spent_cost += cost
