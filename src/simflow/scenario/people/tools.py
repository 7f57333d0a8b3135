"""Whose file it is, and which of its columns is what. Found from the columns; nothing but names is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simflow.scenario.people.records import Record, Records

FIELDS = ("id", "name", "persona", "about", "follows", "posts")


@dataclass(frozen=True, slots=True)
class Tool:
    """Columns of one tool's persona files by the field that they fill; several columns of `about` are put together.

    `marks`: columns that together tell its files; `ignore`: columns that mean nothing elsewhere; `number`: columns that number the rows.
    """

    name: str
    marks: frozenset[str] = frozenset()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    number: tuple[str, ...] = ()


_NAMES = ("ім'я", "імʼя", "ім’я", "имя", "姓名", "名字")  # noqa: RUF001 - columns as their authors write them
_ABOUTS = ("про себе", "о себе", "简介")  # noqa: RUF001 - the same

PLAIN = Tool(
    "plain",
    columns={
        "id": ("id", "username", "user_name", "handle", "login", "screen_name"),
        "name": ("name", "full_name", "realname", "real_name", "nome", "nombre", "nom", *_NAMES, "role"),
        "persona": ("persona", "stratum"),
        "about": ("about", "bio", "biography", "description", "historia_resumida", "background", "backstory", "summary", *_ABOUTS),
        "follows": ("follows", "following", "friends"),
        "posts": ("posts", "previous_posts", "tweets"),
    },
)
TOOLS: tuple[Tool, ...] = (
    Tool(
        "oasis",
        frozenset({"user_char", "username"}),
        {
            "id": ("username",),
            "name": ("name", "username"),
            "about": ("user_char", "description"),
            "follows": ("following_agentid_list", "following_list"),
            "posts": ("previous_tweets",),
        },
        frozenset(
            {
                "following_list",
                "follower_agentid_list",
                "following_count",
                "follower_count",
                "tweets_id",
                "user_id",
                "activity_level_frequency",
            }
        ),
        ("", "agent_id", "Unnamed: 0", "user_id"),
    ),
    Tool(
        "oasis", frozenset({"realname", "username", "persona"}), {"id": ("username",), "name": ("realname",), "about": ("bio", "persona")}
    ),
    Tool("tinytroupe", frozenset({"type", "persona"}), {"name": ("name",), "about": ("occupation",)}),
    Tool(
        "genagents",
        frozenset({"first_name", "last_name", "political_views"}),
        {"name": ("first_name", "last_name")},
    ),
    Tool(
        "smallville",
        frozenset({"name", "innate", "learned"}),
        {"name": ("name",), "about": ("innate", "learned", "currently", "lifestyle")},
        frozenset({"first_name", "last_name", "curr_time", "curr_tile", "vision_r", "att_bandwidth", "retention"}),
    ),
    Tool(
        "smallville",
        frozenset({"name", "currently", "scratch"}),
        {"name": ("name",), "about": ("innate", "learned", "currently", "lifestyle")},
        frozenset({"portrait"}),
    ),
    Tool("agentsociety", frozenset({"home", "work", "education", "consumption"}), {}, frozenset({"home", "work"})),
    PLAIN,
)
NAMES = ("plain", "oasis", "agentsociety", "tinytroupe", "genagents", "smallville")


def tell(records: Records, wanted: str = "auto") -> Tool:
    """The tool whose file this is; `wanted` names it if the author knows."""
    columns = set(records.columns)
    for tool in TOOLS:
        if wanted in {"auto", tool.name} and (tool.marks <= columns or tool is PLAIN):
            return tool
    return next((tool for tool in TOOLS if tool.name == wanted), PLAIN)


def unpack(record: Record, tool: Tool) -> dict[str, Any] | None:
    """A row with what a tool nests brought to the top; None if the row is no person (a fragment, a memory)."""
    data = record.data
    if tool.name == "tinytroupe":
        inner = data.get("persona")
        return dict(inner) if isinstance(inner, dict) and data.get("type") == "TinyPerson" else None
    if tool.name == "smallville" and isinstance(data.get("scratch"), dict):
        return {**{k: v for k, v in data.items() if k != "scratch"}, **data["scratch"]}
    return dict(data)
