-- Size of the subtree under each episode that is not a thread's first: what structural virality is summed over.
with recursive ancestors as (

    select run, parent as ancestor, episode
    from {{ ref('int_responses') }}

    union all

    select
        ancestors.run,
        responses.parent as ancestor,
        ancestors.episode
    from ancestors
    inner join {{ ref('int_responses') }} as responses
        on ancestors.run = responses.run and ancestors.ancestor = responses.episode

),

below as (

    select
        run,
        ancestor as episode,
        count(*) as descendants
    from ancestors
    group by all

)

select
    nodes.run,
    nodes.root,
    nodes.episode,
    1 + coalesce(below.descendants, 0) as subtree_size
from {{ ref('int_cascade_nodes') }} as nodes
left join below
    on nodes.run = below.run and nodes.episode = below.episode
where nodes.depth > 0
