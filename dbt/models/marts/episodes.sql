-- What happened, one row for each episode of each run. Windows never change, so only new ones are added.
-- depends_on: {{ ref('stg_runs') }}
{{ config(
    materialized='incremental',
    incremental_strategy='append',
    on_schema_change='fail',
    pre_hook="{% if is_incremental() %}delete from {{ this }} where run not in (select run from {{ ref('stg_runs') }}){% endif %}"
) }}

select
    episodes.run,
    episodes.window_number,
    episodes.episode,
    episodes.tick,
    episodes.ordinal,
    episodes.actor,
    agents.id as actor_id,
    agents.persona,
    episodes.kind,
    episodes.parent,
    episodes.root,
    episodes.target,
    episodes.text,
    episodes.sentence,
    episodes.event,
    episodes.source,
    episodes.ts,
    episodes.lang
from {{ ref('stg_episodes') }} as episodes
left join {{ ref('stg_agents') }} as agents
    on episodes.run = agents.run and episodes.actor = agents.agent
{% if is_incremental() %}
where (episodes.run, episodes.window_number) not in (select (run, window_number) from {{ this }})
{% endif %}
