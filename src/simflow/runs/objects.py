"""Object storage as paths: the verbs of pathlib that the ledger and the store use, over obstore.

Objects appear whole or not at all, there is no rename, and folders are only prefixes.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import cache, wraps
from pathlib import PurePosixPath
from typing import Any, Self

from obstore.exceptions import BaseError
from obstore.fsspec import FsspecStore
from obstore.store import S3Store

from simflow.errors import RunFailed

SCHEME = "s3://"

RETRY: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=30)}


def client() -> Any:
    """Options of every client: plain HTTP only where the endpoint that was named is one."""
    return {"allow_http": endpoint().startswith("http://"), "timeout": "60s"}


def endpoint() -> str:
    """The endpoint of the object store, empty for the provider's own."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""


def settings() -> Any:
    """What obstore does not find in the environment by itself."""
    return {"endpoint": endpoint()} if endpoint() else {}


def bucket_store(bucket: str) -> S3Store:
    """A bucket as obstore sees it: with conditional writes and flat listings."""
    return _bucket_store(bucket, endpoint())


@cache
def _bucket_store(bucket: str, where: str) -> S3Store:
    del where
    return S3Store(bucket, config=settings(), client_options=client(), retry_config=RETRY)


def failed(path: str, error: BaseException) -> RunFailed:
    """What the store refused, in words."""
    first = str(error).strip().splitlines()[0]
    return RunFailed(
        f"{SCHEME}{path}: {type(error).__name__}: {first}",
        hint="is the endpoint reachable, does the bucket exist, are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY right?",
    )


def _worded(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(method)
    async def told(self: Any, path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return await method(self, path, *args, **kwargs)
        except FileNotFoundError:
            raise
        except BaseError as error:
            raise failed(path, error) from error

    return told


class Objects(FsspecStore):
    """The filesystem. What the store refuses comes out as RunFailed; what is not there as FileNotFoundError, as everywhere."""

    protocol = "s3"
    cachable = False

    def _open(
        self, path: str, mode: str = "rb", block_size: Any = None, autocommit: Any = True, cache_options: Any = None, **kwargs: Any
    ) -> Any:
        # Readers of Parquet ask for many small pieces, each a request; files of windows are small enough to be fetched whole.
        if mode == "rb":
            return io.BytesIO(self.cat_file(path))
        return super()._open(path, mode, block_size, autocommit, cache_options, **kwargs)


for _name in ("_cat_file", "_pipe_file", "_rm_file", "_info", "_ls"):  # what all of fsspec's verbs come down to
    setattr(Objects, _name, _worded(getattr(FsspecStore, _name)))


@cache
def _filesystem(where: str) -> Objects:
    del where
    return Objects("s3", config=settings(), client_options=client(), retry_config=RETRY)


def filesystem() -> Objects:
    """The filesystem for the endpoint that the environment names now."""
    return _filesystem(endpoint())


class ObjectPath:
    """`s3://bucket/key` with the verbs of `pathlib.Path` that state needs. Objects are read and written whole; a folder is a prefix."""

    __slots__ = ("_key",)

    def __init__(self, key: PurePosixPath) -> None:
        self._key = key

    @classmethod
    def of(cls, url: str) -> Self:
        """The path that a URL names."""
        return cls(PurePosixPath(url.removeprefix(SCHEME).strip("/")))

    @property
    def path(self) -> str:
        """Bucket and key, as fsspec spells it."""
        return str(self._key)

    def __str__(self) -> str:
        return f"{SCHEME}{self._key}"

    def __repr__(self) -> str:
        return f"ObjectPath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._key == other._key

    def __lt__(self, other: ObjectPath) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, part: str | PurePosixPath) -> ObjectPath:
        """Go one down."""
        return ObjectPath(self._key / str(part))

    @property
    def name(self) -> str:
        """The last part."""
        return self._key.name

    @property
    def parent(self) -> ObjectPath:
        """One up; the bucket's is the bucket."""
        return ObjectPath(self._key.parent) if len(self._key.parts) > 1 else self

    def absolute(self) -> ObjectPath:
        """Itself: a URL is."""
        return self

    def expanduser(self) -> ObjectPath:
        """Itself: a URL has no `~`."""
        return self

    def exists(self) -> bool:
        """Whether there is an object, or anything below."""
        return bool(filesystem().exists(self.path))

    def is_dir(self) -> bool:
        """Whether there is anything below."""
        return bool(filesystem().isdir(self.path))

    def stat(self) -> os.stat_result:
        """Size and time of change; the rest is 0. Raises FileNotFoundError."""
        info = filesystem().info(self.path)
        changed = info.get("LastModified")
        at = changed.timestamp() if changed else 0.0
        mode = stat.S_IFDIR if info["type"] == "directory" else stat.S_IFREG
        times = {"st_atime_ns": 0, "st_mtime_ns": int(at * 1e9), "st_ctime_ns": 0}
        return os.stat_result((mode, 0, 0, 1, 0, 0, int(info.get("size") or 0), 0, int(at), 0), times)

    def find(self) -> list[ObjectPath]:
        """All objects below, in one listing: asking folder by folder would be a request each."""
        bucket, _, key = self.path.partition("/")
        try:
            names = [entry["path"] for batch in bucket_store(bucket).list(prefix=f"{key}/") for entry in batch]
        except BaseError as error:
            raise failed(self.path, error) from error
        return [ObjectPath(PurePosixPath(bucket, name)) for name in sorted(names)]

    def read_bytes(self) -> bytes:
        """Content of the object. Raises FileNotFoundError."""
        content: bytes = filesystem().cat_file(self.path)
        return content

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Content as text."""
        return self.read_bytes().decode(encoding, errors)

    def write_bytes(self, data: bytes) -> int:
        """Replace the object whole."""
        filesystem().pipe_file(self.path, data)
        return len(data)

    def write_text(self, data: str, encoding: str = "utf-8") -> int:
        """Replace the object whole by text."""
        return self.write_bytes(data.encode(encoding))

    def open(self, mode: str = "r", encoding: str = "utf-8") -> Any:
        """Open a copy of the object for reading."""
        if set(mode) - set("rbt"):
            raise io.UnsupportedOperation(f"objects are written whole, not opened as '{mode}'")
        content = io.BytesIO(self.read_bytes())
        return content if "b" in mode else io.TextIOWrapper(content, encoding=encoding)

    def touch(self) -> None:
        """Make an empty object where there is none."""
        if not self.exists():
            self.write_bytes(b"")

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a prefix is there once something has it."""

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove the object."""
        if self.exists():
            filesystem().rm_file(self.path)
        elif not missing_ok:
            raise FileNotFoundError(str(self))
