-- Who was shown how much in each window, by persona of the reader, and how much of it came from the other side.
with beliefs as (
    select run, window_number, agent, topic, value from {{ ref('int_beliefs_at_window_end') }}
),

crossing as (

    select
        exposures.run,
        exposures.window_number,
        exposures.reader,
        exposures.episode,
        max((reader.value * author.value < 0)::int) as is_cross_cutting
    from {{ ref('stg_exposures') }} as exposures
    inner join {{ ref('stg_episodes') }} as episodes
        on exposures.run = episodes.run and exposures.episode = episodes.episode
    inner join beliefs as reader
        on exposures.run = reader.run and exposures.window_number = reader.window_number and exposures.reader = reader.agent
    inner join beliefs as author
        on exposures.run = author.run and exposures.window_number = author.window_number
        and episodes.actor = author.agent and reader.topic = author.topic
    group by all

)

select
    exposures.run,
    exposures.window_number,
    coalesce(agents.persona, if(agents.is_voice, 'voice', 'unknown')) as persona,
    count(*) as impressions,
    count(distinct exposures.reader) as readers,
    count(distinct exposures.episode) as distinct_episodes,
    count(crossing.is_cross_cutting) as impressions_of_known_sides,
    avg(crossing.is_cross_cutting) as cross_cutting_share
from {{ ref('stg_exposures') }} as exposures
inner join {{ ref('stg_agents') }} as agents
    on exposures.run = agents.run and exposures.reader = agents.agent
left join crossing
    on exposures.run = crossing.run and exposures.window_number = crossing.window_number
    and exposures.reader = crossing.reader and exposures.episode = crossing.episode
group by all
