"""What the catalogue says about the time that a recall takes."""

from __future__ import annotations

from simflow.run import open_cell
from simflow.scenario import load
from simflow.store import RunData, Window
from simflow_pipelines.assets import Inspector
from simflow_pipelines.latency import recall_latency

VILLAGE = """\
scenario: village
topics: {square: A plan to pave the village square.}
population: {agents: 12, personas: {farmer: {share: 50%}, baker: {share: 50%}}}
clock: {ticks: 20, window: 10}
extract: {every: 5}
"""


def test_each_window_has_its_own_figure_and_one_without_words_has_none(tmp_path):
    (tmp_path / "village.yaml").write_text(VILLAGE)
    work = open_cell(tmp_path / "village.yaml", load(tmp_path / "village.yaml").cells[0], tmp_path / ".simflow")
    for number in range(2):
        work.window(number)
    run, inspector = work.data(), Inspector()
    for number in range(2):
        texts = run.window(number).table("episodes")["text"].drop_null()
        waited = inspector.latency(work, number)
        assert (waited is not None) == (len(texts) > 0)
        assert waited is None or waited > 0
    silent = Silenced(run.store, run.record)
    assert recall_latency(silent, 1) is None


class Silenced(RunData):
    """The same run, as if nobody had said a word."""

    def window(self, number: int) -> Window:
        window = super().window(number)

        class Mute(Window):
            def table(self, name, columns=None):
                return super().table(name, columns).slice(0, 0)

        return Mute(window.files, window.path, window.manifest)
