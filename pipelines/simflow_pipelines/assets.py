"""One scenario as Dagster assets: `<scenario>/{plan, episodes, vectors, edges, personas, snapshot}`, partitioned by cell and window."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import dagster as dg
from dagster import AssetExecutionContext

from simflow import __version__
from simflow.errors import EndpointFailed, EndpointRefused, RunFailed, SimflowError, Stopped
from simflow.plan import Cell, Plan
from simflow.plan.names import asset_name, identifier
from simflow.runs import Ledger, RunRecord, WindowRecord
from simflow.runs.lock import held
from simflow_pipelines import beta
from simflow_pipelines.checks import Verdict, asset_of, blocks, check_specs, judge
from simflow_pipelines.describe import ASSETS, PLAN_ABOUT, code_references, columns, kinds, owners
from simflow_pipelines.figures import materialization_metadata
from simflow_pipelines.interrupts import DagsterExecutionInterruptedError, interruptible
from simflow_pipelines.latency import recall_latency
from simflow_pipelines.partitions import Place, by_cell, partitions
from simflow_pipelines.preview import preview

POOL = "simflow_cells"
"""Pool of all runs that compute windows; a scenario on a model endpoint has one more slot to wait for, `simflow_<engine>`."""

MADE_FROM = {
    "episodes": ("plan",),
    "vectors": ("plan", "episodes"),
    "edges": ("plan", "episodes"),
    "personas": ("plan", "episodes", "edges"),
    "snapshot": ("plan", "vectors", "edges", "personas"),
}
"""Asset -> what it is made from. All rest on the plan, so that each is stale for itself where the plan has changed."""

VERSION = "dagster/data_version"

RETRIES, RETRY_SECONDS = 3, 30


class Result(Protocol):
    """One committed window."""

    @property
    def record(self) -> WindowRecord:
        """What the ledger says of it."""
        ...

    @property
    def metadata(self) -> Mapping[str, float | int | str]:
        """Figures with stable names."""
        ...

    @property
    def key(self) -> str:
        """The content address."""
        ...

    @property
    def reused(self) -> bool:
        """Whether nothing had to be computed."""
        ...


class Work(Protocol):
    """A run of one cell that can be asked for its windows in order."""

    @property
    def record(self) -> RunRecord:
        """The run in the ledger."""
        ...

    def window(self, number: int) -> Result:
        """Compute or reuse one window and commit it."""
        ...


class Watch:
    """Told what happens in this process while windows are made; `simflow run` puts a terminal behind it. Does nothing by itself."""

    def opened(self, cell: Cell, work: Work, numbers: list[int]) -> None:
        """Take note that the windows `numbers` of a cell are next."""

    def listener(self, cell: Cell) -> Callable[[Any], None] | None:
        """Give the function that is told of progress within a window, if any."""
        del cell
        return None

    def committed(self, cell: Cell, result: Result) -> None:
        """Take note of a committed window."""

    def failed(self, cell: Cell, error: BaseException) -> None:
        """Take note of what ended the work."""


Opener = Callable[..., Work]


def open_work(path: str, cell: Cell, home: Path, **options: Any) -> Work:
    """Open the run of a cell. The import is late: a code location that only lists assets needs no engine."""
    from simflow.run import open_cell  # noqa: PLC0415

    work: Work = open_cell(path, cell, home, **options)
    return work


class Inspector:
    """Looks at a committed window, for checks and for the catalogue. What it has read of a window is kept until it looks at another."""

    def __init__(self) -> None:
        self._seen: tuple[tuple[str, int], Any] | None = None

    def judge(self, work: Any, number: int) -> list[Verdict]:
        """Judge one window by all checks."""
        return judge(self._data(work, number), number)

    def tell(self, work: Any) -> None:
        """Write the page that a finished run leaves anew, with what the checks found in it."""
        from simflow.run.outputs import write_page  # noqa: PLC0415 - the engine's room

        write_page(work.data(), work.cell, work.path)

    def preview(self, work: Any, number: int) -> str | None:
        """Show a window to a person, in Markdown."""
        return preview(self._data(work, number), number)

    def latency(self, work: Any, number: int) -> float | None:
        """Milliseconds that a recall takes at the end of a window."""
        return recall_latency(self._data(work, number), number)

    def _data(self, work: Any, number: int) -> Any:
        place = (work.record.id, number)
        if self._seen is None or self._seen[0] != place:
            self._seen = (place, work.data())
        return self._seen[1]


class CheckFailed(RunFailed):
    """A check that blocks did not hold: the data of a window are wrong, or only (`own`) what the scenario demands of the end of a run."""

    own = False


@dataclass(frozen=True)
class ScenarioAssets:
    """Everything that Dagster is told about one compiled scenario. `prefix` stands before the scenario in each asset key."""

    plan: Plan
    home: Path
    prefix: tuple[str, ...] = ()
    watch: Watch = field(default_factory=Watch)
    opener: Opener = open_work
    inspector: Inspector = field(default_factory=Inspector)
    freshness: dg.FreshnessPolicy | None = None

    @property
    def name(self) -> str:
        """The scenario's name as an identifier, for jobs and groups."""
        return identifier("_".join((*self.prefix, self.plan.scenario)))

    def key(self, asset: str) -> dg.AssetKey:
        """The key of one of the assets."""
        return dg.AssetKey([*self.prefix, asset_name(self.plan.scenario), asset])

    @property
    def windows_selection(self) -> dg.AssetSelection:
        """The five assets that are computed."""
        return dg.AssetSelection.assets(*(self.key(name) for name in ASSETS))

    def run_tags(self, cell: Cell) -> dict[str, str]:
        """What a run of a cell can be found by."""
        return {
            "simflow/scenario": self.plan.scenario,
            "simflow/variant": cell.variant,
            "simflow/seed": str(cell.seed),
            "simflow/cell": cell.name,
        }

    def spec(self, name: str) -> dg.AssetSpec:
        """The specification of one asset."""
        cell = self.plan.cells[0]
        about = f"{self.plan.about}\n\n{ASSETS[name][1]}" if self.plan.about else ASSETS[name][1]
        return dg.AssetSpec(
            key=self.key(name),
            deps=[self.key(other) for other in MADE_FROM[name]],
            description=about,
            group_name=self.name,
            owners=owners(cell),
            kinds=kinds(name),
            tags={"simflow/scenario": identifier(self.plan.scenario)[:63]},
            metadata={"dagster/column_schema": columns(name), **code_references(self.plan, ASSETS[name][2])},
            skippable=True,  # each window says for itself when it is there; the step has nothing to add at its end
            partitions_def=partitions(self.plan),
            freshness_policy=self.freshness if name == "snapshot" else None,
        )

    def windows(self) -> dg.AssetsDefinition:
        """The assets that are computed, all five by one step: a window of a cell is committed whole or not at all."""
        pools = {POOL}
        if self.plan.cells[0].models.engine not in {"builtin", "replay"}:
            pools = {f"simflow_{identifier(self.plan.cells[0].models.engine)}"}

        @dg.multi_asset(
            name=f"{self.name}_windows",
            specs=[self.spec(name) for name in ASSETS],
            backfill_policy=dg.BackfillPolicy.single_run(),
            check_specs=check_specs(self.plan, {name: self.key(name) for name in ASSETS}),
            can_subset=True,  # the scenario's own checks speak at the end of a run only: their results must be optional
            pool=next(iter(pools)),
            op_tags={"simflow/scenario": identifier(self.plan.scenario)[:63]},
        )
        def compute(context: AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
            """Compute the windows that are asked for, in order, and those before them that are missing."""
            verdicts: list[tuple[str, Verdict]] = []
            try:
                for cell, numbers in by_cell(context.partition_keys, self.plan):
                    if numbers:
                        self._cell(context, cell, numbers, verdicts)
            except dg.Failure:
                yield from self._results(context, verdicts)
                raise
            yield from self._results(context, verdicts)

        made: dg.AssetsDefinition = compute
        return made

    def _results(self, context: AssetExecutionContext, verdicts: list[tuple[str, Verdict]]) -> Iterator[dg.AssetCheckResult]:
        # One result a check and run: a check has no partitions, so it names those where it failed.
        for check in dict.fromkeys(verdict.check for _, verdict in verdicts):
            if dg.AssetCheckKey(self.key(asset_of(check)), check) not in context.selected_asset_check_keys:
                continue
            found = [(place, v) for place, v in verdicts if v.check == check]
            wrong = [(place, v) for place, v in found if not v.passed]
            last = found[-1][1]
            yield dg.AssetCheckResult(
                asset_key=self.key(asset_of(check)),
                check_name=check,
                passed=not wrong,
                severity=dg.AssetCheckSeverity.ERROR if blocks(check) else dg.AssetCheckSeverity.WARN,
                description="; ".join(f"{place}: {v.words}" for place, v in wrong[:10]) or last.words or None,
                metadata={
                    "partitions": len(found),
                    "failed_partitions": [place for place, _ in wrong],
                    **(wrong[0][1] if wrong else last).figures,
                },
            )

    def _cell(self, context: AssetExecutionContext, cell: Cell, numbers: list[int], verdicts: list[tuple[str, Verdict]]) -> None:
        with _one_at_a_time(self.home, self.plan.scenario, cell.name):
            work: Work | None = None
            try:
                listener = self.watch.listener(cell)
                work = self.opener(self.plan.path, cell, self.home, **({"listener": listener} if listener else {}))
                self.watch.opened(cell, work, numbers)
                there = {window.number for window in work.record.windows()}
                for number in range(max(numbers) + 1):
                    with interruptible():
                        result = work.window(number)
                    if number in numbers or number not in there:
                        self._report(context, cell, work, result, reused=result.reused or number in there)
                        self._judge(work, cell, number, verdicts)
                    self.watch.committed(cell, result)
            except BaseException as error:
                self.watch.failed(cell, error)
                if isinstance(error, DagsterExecutionInterruptedError | Stopped):
                    # Somebody meant it: Dagster files the run as cancelled, not as failed, and the ledger says so between windows too.
                    if work is not None:
                        Ledger(work.record).interrupted(str(error.__cause__ or "") or "interrupted")
                    context.instance.report_run_canceling(context.run, "Interrupted; committed windows stay.")
                    raise DagsterExecutionInterruptedError from error
                if isinstance(error, CheckFailed) and work is not None:
                    Ledger(work.record).interrupted(str(error), failed=True)
                if isinstance(error, EndpointFailed) and not isinstance(error, EndpointRefused):
                    context.log.warning("%s %s", error, error.hint or "")
                    raise dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=RETRY_SECONDS) from error
                if isinstance(error, SimflowError):
                    raise _failure(error) from error
                raise

    def _judge(self, work: Work, cell: Cell, number: int, verdicts: list[tuple[str, Verdict]]) -> None:
        place = Place(cell.name, number)
        found = self.inspector.judge(work, number)
        verdicts += [(place.key, verdict) for verdict in found]
        if found:
            Ledger(work.record).judged(number, [(v.check, v.passed, v.words, blocks(v.check)) for v in found])
            if number + 1 == len(cell.windows) and cell.outputs is not None and cell.outputs.report:
                self.inspector.tell(work)
        if bad := [v for v in found if not v.passed and blocks(v.check)]:
            said = "; ".join(f"{v.check}: {v.words}" for v in bad)
            hint = f"the window is kept; `simflow runs {work.record.id}` says what the checks found"
            error = CheckFailed(f"{place.key}: {said}", hint=hint)
            error.own = all(v.check.startswith("check_") for v in bad)
            raise error

    def _report(self, context: AssetExecutionContext, cell: Cell, work: Work, result: Result, *, reused: bool) -> None:
        place = Place(cell.name, result.record.number).key
        pointer, seen = self._seen(context.instance, place)
        if seen != result.key:
            context.log_event(self._observation(place, result.key))
            pointer, _ = self._seen(context.instance, place)
        shown = self.inspector.preview(work, result.record.number)
        waited = self.inspector.latency(work, result.record.number)
        for name in ASSETS:
            metadata = materialization_metadata(name, self.home, work.record, result, reused=reused)
            if name == "snapshot":
                metadata |= {"preview": dg.MetadataValue.md(shown)} if shown else {}
                metadata |= {"recall_latency": waited} if waited is not None else {}
            # What the window was made from, in Dagster's own words: it is stale once the plan's data version is another one.
            made_from = {"dagster/code_version": __version__}
            for other in MADE_FROM[name]:
                made_from |= {
                    f"dagster/input_data_version/{self.key(other).to_user_string()}": result.key,
                    f"dagster/input_event_pointer/{self.key(other).to_user_string()}": str(pointer) if other == "plan" else "NULL",
                }
            context.log_event(
                dg.AssetMaterialization(
                    asset_key=self.key(name),
                    partition=place,
                    metadata=metadata,
                    tags={VERSION: result.key, f"{VERSION}_is_user_provided": "true", **made_from},
                )
            )

    def observed(self) -> dg.AssetsDefinition:
        """The plan as an asset that can be observed: its data versions say which windows a change of the file concerns."""
        spec = dg.AssetSpec(
            key=self.key("plan"),
            group_name=self.name,
            description=PLAN_ABOUT,
            owners=owners(self.plan.cells[0]),
            kinds=kinds("plan"),
            metadata=code_references(self.plan, ("scenario",)),
            partitions_def=partitions(self.plan),
            skippable=True,
        )

        def observe(context: AssetExecutionContext) -> Iterator[dg.ObserveResult]:
            """Say what each window would be made of now, where that has changed."""
            for observation in self.observations(context.instance):
                context.log_event(observation)
            yield from ()

        with beta.accepted():
            made: dg.AssetsDefinition = dg.multi_observable_source_asset(name=f"{self.name}_plan", specs=[spec])(observe)
        return made

    def observations(self, instance: dg.DagsterInstance) -> list[dg.AssetObservation]:
        """Observations of the plan's partitions whose data version is not what was observed last."""
        return [self._observation(place, key) for place, key in plan_versions(self.plan).items() if self._seen(instance, place)[1] != key]

    def _seen(self, instance: dg.DagsterInstance, place: str) -> tuple[int | None, str | None]:
        record = instance.get_latest_data_version_record(self.key("plan"), is_source=True, partition_key=place)
        observation = record.asset_observation if record else None
        return (record.storage_id, (observation.tags or {}).get(VERSION)) if record and observation else (None, None)

    def _observation(self, place: str, key: str) -> dg.AssetObservation:
        return dg.AssetObservation(asset_key=self.key("plan"), partition=place, tags={VERSION: key, f"{VERSION}_is_user_provided": "true"})

    def job(self) -> Any:
        """A job over the computed assets, named after the scenario."""
        return dg.define_asset_job(
            self.name,
            selection=self.windows_selection,
            executor_def=dg.in_process_executor,
            description=self.plan.about or f"All windows of {self.plan.scenario}.",
            tags={"simflow/scenario": self.plan.scenario},
        )


def plan_versions(plan: Plan) -> dict[str, str]:
    """Content address of each partition of a plan, by partition key; nothing is computed."""
    from simflow.run import window_keys  # noqa: PLC0415 - needs the engine's version

    return {Place(cell.name, number).key: key for cell in plan.cells for number, key in enumerate(window_keys(cell))}


def _failure(error: SimflowError) -> dg.Failure:
    what = "stopped" if isinstance(error, Stopped) else type(error).__name__
    return dg.Failure(description=str(error), metadata={"what": what, **({"hint": error.hint} if error.hint else {})}, allow_retries=False)


@contextmanager
def _one_at_a_time(home: Path, scenario: str, cell: str) -> Iterator[None]:
    # Two runs that want windows of one cell take turns: the second finds what the first has committed.
    with held(home / "locks" / f"{identifier(scenario)}-{cell}", wait=True):
        yield
