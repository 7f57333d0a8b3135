-- For each window of a run, the opinions that were in force at its end: what the memory believed then. Where a run has opinions on something,
-- other relations towards it (trust, say) are no stance; of entities, which nobody has an opinion on, it is what is held of them.
with versions as (

    select
        edges.run,
        windows.window_number,
        windows.to_tick as tick,
        edges."of" as agent,
        edges.on_topic as topic,
        edges.value,
        edges.valid_to,
        edges.kind = 'opinion' as is_opinion,
        bool_or(edges.kind = 'opinion') over (partition by edges.run, edges.on_topic) as has_opinions
    from {{ ref('stg_edges') }} as edges
    inner join {{ ref('stg_windows') }} as windows
        on edges.run = windows.run and edges.window_number <= windows.window_number
    where edges.on_topic is not null
    qualify row_number() over (partition by edges.run, windows.window_number, edges.edge order by edges.version desc) = 1

)

select
    run,
    window_number,
    tick,
    agent,
    topic,
    avg(value) as value
from versions
where valid_to is null and (is_opinion or not has_opinions)
group by all
