-- All relations as the memory has them now, whatever they are towards, each with how long it held and what it rests on.
select
    edges.run,
    edges.edge,
    edges.kind,
    edges."of" as agent,
    edges.on_agent,
    edges.on_topic,
    edges.about,
    edges.value,
    edges.weight,
    edges."count" as statements,
    len(edges.evidence) as evidence_episodes,
    edges.valid_from,
    edges.valid_to,
    edges.valid_to is null as is_in_force,
    edges.superseded_by,
    edges.last_seen,
    edges.learnt
from {{ ref('int_edges_newest') }} as edges
