"""Where state is: a folder of this machine, or a prefix of an object store (`s3://bucket/prefix`), both with pathlib's verbs.

Everything but what can be made again lies there. What is made again (caches, copies of windows, the warehouse) needs a folder of this
machine: the state folder itself, or the workplace of an object store.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, cast

from simflow.errors import BadInput

SCHEME = "s3://"
_PLACE = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\0]*)?")


def place(given: str | Path) -> Path:
    """The place that `given` names: a path of this machine, absolute, or `s3://bucket/prefix`. Nothing is read or written.

    An object store's place is no `pathlib.Path` by type, but has its verbs. Raises BadInput for other URLs, bucket names that cannot be,
    and where the library for object stores is not installed.
    """
    if is_remote(given) and not isinstance(given, str):
        return given
    text = str(given)
    if "://" not in text:
        return Path(text).expanduser().absolute()
    if not _PLACE.fullmatch(text):
        raise BadInput(
            f"'{text}' is no place for state", hint="a folder, or s3://BUCKET/PREFIX with a bucket of letters, digits and dashes"
        )
    return cast(Path, _objects().ObjectPath.of(text))


def is_remote(where: str | Path) -> bool:
    """Whether a place is on an object store."""
    return str(where).startswith(SCHEME)


def workplace(home: str | Path) -> Path:
    """The folder of this machine for what can be made again: `home` itself, or a folder for this object store under the user's caches.

    SIMFLOW_WORK says where workplaces are; the default is `simflow` in XDG_CACHE_HOME or `~/.cache`.
    """
    if not is_remote(home):
        return Path(home)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simflow"
    root = Path(os.environ.get("SIMFLOW_WORK") or caches).expanduser().absolute()
    url = str(home).rstrip("/")
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", url.removeprefix(SCHEME))[-60:].strip("-.")
    return root / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def filesystem() -> Any:
    """The fsspec filesystem behind all `s3://` places. Endpoint and keys come from the usual AWS_* variables."""
    return _objects().filesystem()


def storage_options() -> dict[str, str]:
    """What LanceDB has to be told besides the AWS_* variables that it reads itself."""
    objects = _objects()
    options = {"endpoint": objects.endpoint()} if objects.endpoint() else {}
    return options | ({"allow_http": "true"} if objects.endpoint().startswith("http://") else {})


def _objects() -> Any:
    # Imported when a URL is met: nobody else pays for it, and it is an extra.
    try:
        from simflow.runs import objects  # noqa: PLC0415
    except ImportError as error:
        raise BadInput("state on object storage needs the library obstore", hint="pip install 'simflow[s3]'") from error
    return objects
