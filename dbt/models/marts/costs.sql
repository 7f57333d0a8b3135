-- What each window cost: wall seconds by stage, tokens and money on models, and whether it had to be computed at all.
select
    windows.run,
    runs.scenario,
    runs.variant,
    runs.seed,
    windows.window_number,
    windows.is_reused,
    windows.seconds_world,
    windows.seconds_vectors,
    windows.seconds_edges,
    windows.seconds_personas,
    windows.seconds_snapshot,
    windows.seconds_world + windows.seconds_vectors + windows.seconds_edges + windows.seconds_personas + windows.seconds_snapshot
        as seconds,
    windows.tokens,
    windows.cost,
    windows.queue as waiting_for_extraction
from {{ ref('stg_windows') }} as windows
inner join {{ ref('stg_runs') }} as runs using (run)
