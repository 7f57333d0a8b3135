"""Names of a scenario where only letters of ASCII are taken: those that Dagster gives its assets, groups, jobs and checks."""

from __future__ import annotations

import hashlib


def asset_name(name: str) -> str:
    """The part of an asset key that names a scenario: the name itself where Dagster can make names of its own from it."""
    return name if name.isascii() and name.replace("-", "_").isidentifier() else identifier(name)


def identifier(name: str) -> str:
    """A name that Dagster takes for groups, jobs and steps.

    Other scripts are written in Latin letters as far as that is possible (`samokati_fb37c9be`); what that loses, a digest of the name tells apart.
    """
    if not name.isascii():
        from slugify import slugify  # noqa: PLC0415 - few names need it

        name = f"{slugify(name, separator='_', lowercase=False)}_{hashlib.sha256(name.encode()).hexdigest()[:8]}".lstrip("_")
    kept = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return kept if kept and not kept[0].isdigit() else f"s_{kept}"
