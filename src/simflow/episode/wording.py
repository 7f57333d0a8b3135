"""What simflow says around the words of a scenario, in the scenario's language: sentences, memory blocks, beliefs. One table a language."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

CODES = ("en", "pt", "es", "uk")
CATEGORIES = ("one", "few", "many", "other")
_FIELD = re.compile(r"\{(\w+)\}")


def category(code: str, number: int) -> str:
    """The plural category of a whole number >= 0 in a language that has a table: the rules of CLDR (unicode.org/cldr, plurals.xml).

    Portuguese as in Portugal, where 0 is plural; the form for round millions of pt and es is not told apart.
    """
    if code != "uk":
        return "one" if number == 1 else "other"
    if number % 10 == 1 and number % 100 != 11:
        return "one"
    return "few" if 2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14 else "many"


class Wording:
    """The table of one language. Keys are those of its TOML file, such as `fact.since`; they are the same in every language."""

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        self.code = code
        self.sentences: Mapping[str, Mapping[str, str]] = table["sentences"]
        self.verbs: tuple[str, str, str] = tuple(table["verbs"])
        """What -1, 0 and +1 mean on a topic whose scale the scenario leaves out."""
        self.attitudes: tuple[str, str, str] = tuple(table["attitudes"])
        """What they mean towards an agent."""
        self._said: dict[str, str] = {}
        self._counted: dict[str, Mapping[str, str]] = {}
        for name, value in table.items():
            for key, words in value.items() if isinstance(value, dict) and name != "sentences" else [(None, value)]:
                full = name if key is None else f"{name}.{key}"
                if isinstance(words, str):
                    self._said[full] = words
                elif isinstance(words, dict) and name != "sentences":
                    self._counted[full] = words

    @functools.cached_property
    def id(self) -> str | None:
        """What stands for these words in the address of a window: None for English, which came first and is in none."""
        if self.code == CODES[0]:
            return None
        kept = json.dumps([self.sentences, self.verbs, self.attitudes, self._said, self._counted], ensure_ascii=False, sort_keys=True)
        return f"{self.code}/{hashlib.sha256(kept.encode()).hexdigest()[:12]}"

    def say(self, key: str, **given: object) -> str:
        """The words of a key, with what is given filled in; nothing in what is given is read as a place to fill."""
        return self._said[key].format(**given)

    def count(self, key: str, number: int, **given: object) -> str:
        """The words of a key in the form that a number needs."""
        forms = self._counted[key]
        return forms.get(category(self.code, number), forms["other"]).format(n=number, **given)

    def kind(self, name: str) -> str:
        """A kind of relation: built-in ones have a word, those of a scenario are called as it calls them."""
        return self._said.get(f"belief.{name}", name) if name in {"opinion", "attitude", "influence"} else name

    def scale(self, scale: tuple[str, str, str]) -> tuple[str, str, str]:
        """The verbs of a topic: the scenario's, or this language's where it has left them out."""
        return self.verbs if scale == _load(CODES[0]).verbs else scale

    def patterns(self, key: str, **given: str) -> list[re.Pattern[str]]:
        """What `say` or `count` write for a key, in each form, as regular expressions; given: an expression for each place to fill."""
        forms = [self._said[key]] if key in self._said else list(dict.fromkeys(self._counted[key].values()))
        found = []
        for form in forms:
            parts = _FIELD.split(form)
            found.append(re.compile("".join(given[p] if at % 2 else re.escape(p) for at, p in enumerate(parts))))
        return found

    def texts(self) -> dict[str, str]:
        """Every text by its full key, a form of a number by key and category."""
        found = dict(self._said) | {f"verbs.{at}": verb for at, verb in enumerate(self.verbs)}
        found |= {f"attitudes.{at}": verb for at, verb in enumerate(self.attitudes)}
        found |= {f"sentences.{kind}.{form}": text for kind, forms in self.sentences.items() for form, text in forms.items()}
        return found | {f"{key}.{form}": text for key, forms in self._counted.items() for form, text in forms.items()}


@functools.lru_cache(maxsize=64)
def wording(language: str | None) -> Wording:
    """The words of a language code such as `pt` or `pt-BR`; English for a language that has no table."""
    short = primary(language)
    return _load(short if short in CODES else CODES[0])


def primary(language: str | None) -> str:
    """The language of a code such as `pt-BR` or `pt_BR`, here `pt`; English for none."""
    return (language or CODES[0]).replace("_", "-").split("-", maxsplit=1)[0].lower()


@functools.cache
def _load(code: str) -> Wording:
    return Wording(code, tomllib.loads((resources.files(__package__) / "words" / f"{code}.toml").read_text(encoding="utf-8")))
