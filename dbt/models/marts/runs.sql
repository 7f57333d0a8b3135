-- One row for each run of the project.
with windows as (

    select
        run,
        count(*) as windows,
        sum(is_reused::int) as reused_windows,
        max(to_tick) as committed_ticks,
        sum(tokens)::bigint as tokens,
        sum(cost) as cost
    from {{ ref('stg_windows') }}
    group by all

),

episodes as (
    select run, count(*) as episodes from {{ ref('stg_episodes') }} group by all
),

exposures as (
    select run, count(*) as exposures from {{ ref('stg_exposures') }} group by all
),

edges as (

    select
        run,
        count(*) filter (where valid_to is null) as edges_in_force,
        count(*) filter (where valid_to is not null) as edges_superseded
    from {{ ref('int_edges_newest') }}
    group by all

)

select
    runs.run,
    runs.scenario,
    runs.cell,
    runs.variant,
    runs.sweep,
    runs.seed,
    runs.started,
    runs.state,
    runs.reason,
    runs.ticks,
    coalesce(windows.committed_ticks, 0) as committed_ticks,
    runs.planned_windows,
    coalesce(windows.windows, 0) as windows,
    coalesce(windows.reused_windows, 0)::bigint as reused_windows,
    runs.is_latest,
    coalesce(episodes.episodes, 0) as episodes,
    coalesce(exposures.exposures, 0) as exposures,
    coalesce(edges.edges_in_force, 0) as edges_in_force,
    coalesce(edges.edges_superseded, 0) as edges_superseded,
    coalesce(windows.tokens, 0) as tokens,
    coalesce(windows.cost, 0) as cost,
    runs.engine,
    runs.embedder,
    runs.extractor,
    runs.simflow
from {{ ref('stg_runs') }} as runs
left join windows using (run)
left join episodes using (run)
left join exposures using (run)
left join edges using (run)
