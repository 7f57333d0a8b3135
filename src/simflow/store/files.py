"""One filesystem object: a folder on this machine or a prefix of an object store, behind the same few verbs."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fsspec

from simflow.runs import is_remote, workplace
from simflow.runs.place import SCHEME, filesystem

STAGING = "staging"
"""Folders that are being filled, named by the process that fills them."""


class Files:
    """Paths are relative to `root` and use `/`. Writing is atomic: a reader sees the old file, the new file, or none."""

    def __init__(self, root: str | Path) -> None:
        self.root = str(root).rstrip("/")
        self.local = not is_remote(self.root)
        if self.local:
            self.fs, self.base = fsspec.core.url_to_fs(self.root)
        else:
            self.fs, self.base = filesystem(), self.root.removeprefix(SCHEME)
        self.work = workplace(root)
        """The folder of this machine for what can be made again."""

    def url(self, path: str) -> str:
        """The path as others spell it: with its scheme on object storage."""
        return self.full(path) if self.local else f"{SCHEME}{self.full(path)}"

    def near(self, path: str) -> str:
        """A copy of an immutable file on this machine, fetched once; the file itself where it is here anyway. Raises FileNotFoundError."""
        if self.local:
            return self.full(path)
        copy = self.work / path
        if not copy.exists():
            content = self.read(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            beside = copy.with_name(f".{copy.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}")
            beside.write_bytes(content)
            beside.replace(copy)
        return str(copy)

    def full(self, path: str) -> str:
        """The path as the filesystem itself spells it."""
        return f"{self.base}/{path}" if path else self.base

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return bool(self.fs.exists(self.full(path)))

    def read(self, path: str) -> bytes:
        """Read a whole file. Raises FileNotFoundError."""
        content: bytes = self.fs.cat_file(self.full(path))
        return content

    def write(self, path: str, content: bytes) -> None:
        """Replace a file whole."""
        if not self.local:  # an object appears whole or not at all
            self.fs.pipe_file(self.full(path), content)
            return
        target = Path(self.full(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        beside.write_bytes(content)
        beside.replace(target)

    def list(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty if there is none."""
        if not self.fs.isdir(self.full(path)):
            return []
        return sorted(str(name).rstrip("/").rsplit("/", 1)[-1] for name in self.fs.ls(self.full(path), detail=False))

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all in it; nothing happens where there is none."""
        if self.exists(path):
            self.fs.rm(self.full(path), recursive=True)
        if not self.local:  # copies go too
            shutil.rmtree(self.work / path, ignore_errors=True)

    @contextmanager
    def whole_folder(self, path: str, last: str) -> Iterator[Folder]:
        """A folder that appears whole or not at all.

        path: where it will be. last: the file that is written last; on object stores, where there is no rename, readers take the
        folder to exist once this file does. An existing folder is kept as it is: whoever committed first wins, the bytes are the same.
        """
        if not self.local:
            yield Folder(self, path)
            return
        self._sweep()
        staging = f"{STAGING}/{os.getpid()}-{uuid.uuid4().hex[:8]}"
        Path(self.full(staging)).mkdir(parents=True)
        try:
            yield Folder(self, staging)
            if not (Path(self.full(staging)) / last).exists():
                raise AssertionError(f"{last} was not written")
            if not self.exists(path):
                Path(self.full(path)).parent.mkdir(parents=True, exist_ok=True)
                try:
                    Path(self.full(staging)).rename(self.full(path))
                except OSError:
                    if not self.exists(path):
                        raise
        finally:
            shutil.rmtree(self.full(staging), ignore_errors=True)

    def _sweep(self) -> None:
        # What a killed process left half-written is of no use to anybody.
        for name in self.list(STAGING):
            writer = name.split("-", 1)[0]
            if not (writer.isdigit() and _alive(int(writer))):
                shutil.rmtree(self.full(f"{STAGING}/{name}"), ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Folder:
    """A folder that is being filled."""

    def __init__(self, files: Files, path: str) -> None:
        self.files = files
        self.path = path

    def write(self, name: str, content: bytes) -> None:
        """Write one file of the folder."""
        self.files.write(f"{self.path}/{name}", content)
