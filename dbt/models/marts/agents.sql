-- Residents and voices of each run, with how much each did and saw.
with acts as (

    select
        run,
        actor as agent,
        count(*) as acts,
        count(text) as texts,
        max(tick) as last_act
    from {{ ref('stg_episodes') }}
    group by all

),

seen as (

    select run, reader as agent, count(*) as impressions_received
    from {{ ref('stg_exposures') }}
    group by all

),

shown as (

    select
        episodes.run,
        episodes.actor as agent,
        count(*) as impressions_earned
    from {{ ref('stg_exposures') }} as exposures
    inner join {{ ref('stg_episodes') }} as episodes
        on exposures.run = episodes.run and exposures.episode = episodes.episode
    group by all

)

select
    agents.run,
    agents.agent,
    agents.id,
    agents.name,
    agents.persona,
    agents.is_voice,
    agents.joined,
    agents.about,
    agents.traits,
    coalesce(acts.acts, 0) as acts,
    coalesce(acts.texts, 0) as texts,
    acts.last_act,
    coalesce(seen.impressions_received, 0) as impressions_received,
    coalesce(shown.impressions_earned, 0) as impressions_earned
from {{ ref('stg_agents') }} as agents
left join acts using (run, agent)
left join seen using (run, agent)
left join shown using (run, agent)
