-- Each agent's stance over time, as the memory believed it at the end of each window.
select
    beliefs.run,
    beliefs.window_number,
    beliefs.tick,
    beliefs.agent,
    agents.id,
    coalesce(agents.persona, if(agents.is_voice, 'voice', 'unknown')) as persona,
    beliefs.topic,
    beliefs.value as stance,
    beliefs.value - lag(beliefs.value) over (
        partition by beliefs.run, beliefs.agent, beliefs.topic
        order by beliefs.window_number
    ) as change
from {{ ref('int_beliefs_at_window_end') }} as beliefs
inner join {{ ref('stg_agents') }} as agents
    on beliefs.run = agents.run and beliefs.agent = agents.agent
