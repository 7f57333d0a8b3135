-- What the memory believed about each persona's stance at the end of each window.
select
    beliefs.run,
    beliefs.window_number,
    beliefs.tick,
    coalesce(agents.persona, if(agents.is_voice, 'voice', 'unknown')) as persona,
    beliefs.topic,
    count(*) as known_agents,
    avg(beliefs.value) as mean_stance,
    coalesce(stddev_pop(beliefs.value), 0) as sd_stance,
    avg(if(beliefs.value < -0.15, 1.0, 0.0)) as share_against,
    avg(if(beliefs.value > 0.15, 1.0, 0.0)) as share_for
from {{ ref('int_beliefs_at_window_end') }} as beliefs
inner join {{ ref('stg_agents') }} as agents
    on beliefs.run = agents.run and beliefs.agent = agents.agent
group by all
