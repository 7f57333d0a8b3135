-- Opinions of agents on topics: each one that was ever held, how long it held, and what it rests on.
select
    edges.run,
    edges.edge,
    edges.kind,
    edges."of" as agent,
    agents.id,
    agents.persona,
    edges.on_topic as topic,
    edges.value,
    case when edges.value > 0.15 then 'for' when edges.value < -0.15 then 'against' else 'unsure' end as side,
    edges.weight,
    edges."count" as statements,
    len(edges.evidence) as evidence_episodes,
    edges.valid_from,
    edges.valid_to,
    edges.valid_to is null as is_in_force,
    edges.superseded_by,
    edges.valid_to - edges.valid_from as ticks_held,
    edges.last_seen,
    edges.learnt
from {{ ref('int_edges_newest') }} as edges
left join {{ ref('stg_agents') }} as agents
    on edges.run = agents.run and edges."of" = agents.agent
where edges.on_topic is not null
