"""The project's own Dagster instance: made once, whoever comes first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from simflow_pipelines.instance import open_inline


def test_those_who_open_a_fresh_home_at_once_do_not_break_each_other(tmp_path):
    """Two runs begun at once in a new project: Dagster makes its tables when it is opened, and not twice."""
    ready = threading.Barrier(4)

    def open_it(_: int) -> int:
        ready.wait(60)
        with open_inline(tmp_path) as instance:
            return instance.get_runs_count()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(open_it, range(4))) == [0] * 4
