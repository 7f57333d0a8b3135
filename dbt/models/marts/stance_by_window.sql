-- What the memory believes about each persona's stance at the end of each window: opinions in force then.
with states as (

    select
        edges.run,
        windows.window_number,
        windows.to_tick as tick,
        edges."of" as agent,
        edges.on_topic as topic,
        edges.value,
        edges.valid_to
    from {{ ref('stg_edges') }} as edges
    inner join {{ ref('stg_windows') }} as windows
        on edges.run = windows.run and edges.window_number <= windows.window_number
    where edges.on_topic is not null
    qualify row_number() over (partition by edges.run, windows.window_number, edges.edge order by edges.version desc) = 1

)

select
    states.run,
    states.window_number,
    states.tick,
    coalesce(agents.persona, if(agents.is_voice, 'voice', 'unknown')) as persona,
    states.topic,
    count(*) as known_agents,
    avg(states.value) as mean_stance,
    coalesce(stddev_pop(states.value), 0) as sd_stance,
    avg(if(states.value < -0.15, 1.0, 0.0)) as share_against,
    avg(if(states.value > 0.15, 1.0, 0.0)) as share_for
from states
inner join {{ ref('stg_agents') }} as agents
    on states.run = agents.run and states.agent = agents.agent
where states.valid_to is null
group by all
