"""The catalogue of problems: a page for each code, with a scenario that has it and one that does not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import yaml

from simflow.errors import NotFound

BASE = {
    "scenario": "scenario: demo\n",
    "topics": "topics: {tariff: A rise of the water bill.}\n",
}
"""What an example does not say itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a code means. `bad` has the problem, `good` does not; both are parts of a scenario, empty where none can be shown."""

    code: str
    title: str
    why: str
    bad: str = ""
    good: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    good_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def warning(self) -> bool:
        """Whether a scenario that has it runs all the same."""
        return self.code.startswith("SF8")

    def markdown(self) -> str:
        """The page."""
        kind = "A warning: the scenario runs." if self.warning else "An error: the scenario does not run."
        parts = [f"# {self.code}: {self.title}", "", kind, "", self.why.strip(), ""]
        for title, text, files in (("This has it", self.bad, self.files), ("This does not", self.good, self.good_files)):
            if text:
                parts += [f"## {title}", "", "```yaml", _visible(text), "```", ""]
                for name, content in files.items():
                    parts += [f"with `{name}`:", "", "```", _visible(content), "```", ""]
        return "\n".join(parts)


@cache
def pages() -> dict[str, Page]:
    """All pages, by code."""
    text = resources.files("simflow.scenario").joinpath("catalogue.yaml").read_text("utf-8")
    rows = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    return {code: Page(code, **row) for code, row in rows.items()}


def page(code: str) -> Page:
    """The page of a code, however it is written. Raises NotFound with the known ones."""
    wanted = code.strip().upper()
    wanted = wanted if wanted.startswith("SF") else f"SF{wanted}"
    if wanted not in pages():
        raise NotFound(f"there is no code {code}", hint=f"codes: {', '.join(pages())}")
    return pages()[wanted]


def scenario(part: str) -> str:
    """A whole scenario from an example's part."""
    named = set(re.findall(r"^(\w+):", part, re.MULTILINE))
    return "".join(line for key, line in BASE.items() if key not in named) + part


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text.rstrip("\n"))
