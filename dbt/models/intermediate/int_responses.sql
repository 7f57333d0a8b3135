-- Answers: episodes that carry something on (reply, repost, quote), with whom they answer. The edges of a cascade.
select
    child.run,
    child.window_number,
    child.episode,
    child.tick,
    child.kind,
    child.actor,
    child.parent,
    parent.actor as parent_actor,
    parent.tick as parent_tick
from {{ ref('stg_episodes') }} as child
inner join {{ ref('stg_episodes') }} as parent
    on child.run = parent.run and child.parent = parent.episode
where child.kind in ('reply', 'repost', 'quote')
