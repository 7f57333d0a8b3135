-- Relations of agents towards agents, with how long each held and what it rests on.
select
    edges.run,
    edges.edge,
    edges.kind,
    edges."of" as agent,
    holder.id as agent_id,
    edges.on_agent as towards,
    other.id as towards_id,
    edges.about,
    edges.value,
    edges."count" as statements,
    len(edges.evidence) as evidence_episodes,
    edges.valid_from,
    edges.valid_to,
    edges.valid_to is null as is_in_force,
    edges.superseded_by,
    edges.last_seen,
    edges.learnt
from {{ ref('int_edges_newest') }} as edges
left join {{ ref('stg_agents') }} as holder
    on edges.run = holder.run and edges."of" = holder.agent
left join {{ ref('stg_agents') }} as other
    on edges.run = other.run and edges.on_agent = other.agent
where edges.on_agent is not null
