"""What was measured of each window: files beside the windows, by the same key. They can be made again, so nothing of a run rests on them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from simflow.errors import RunFailed
from simflow.store.files import Files
from simflow.store.windows import encode

MEASURES = "measures"
STANDING = "standing"


class Measured:
    """`measures/<version>/ab/<key>/`: `measures.parquet`, for everybody, and `standing.parquet`, which holds truth as `truth/` does."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def path(self, version: str, key: str) -> str:
        """The folder of a window's measures, relative to the project's state."""
        return f"measures/{version}/{key[:2]}/{key}"

    def has(self, version: str, key: str) -> bool:
        """Whether a window has been measured."""
        return self.files.exists(f"{self.path(version, key)}/{MEASURES}.parquet")

    def get(self, version: str, key: str, name: str = MEASURES) -> pa.Table | None:
        """One of the two tables; None if the window has not been measured. Raises RunFailed for a broken file."""
        try:
            near = self.files.near(f"{self.path(version, key)}/{name}.parquet")
            return pq.read_table(near, filesystem=LocalFileSystem(), use_threads=False, partitioning=None)
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException) as error:
            hint = "remove the folder `measures` of the project's state; it is made again"
            raise RunFailed(f"measures of window {key[:12]} cannot be read ({error})", hint=hint) from error

    def put(self, version: str, key: str, measures: pa.Table, standing: pa.Table) -> None:
        """Write both, whole or not at all."""
        with self.files.whole_folder(self.path(version, key), last=f"{MEASURES}.parquet") as folder:
            folder.write(f"{STANDING}.parquet", encode(standing))
            folder.write(f"{MEASURES}.parquet", encode(measures))
