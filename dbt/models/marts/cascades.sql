-- Threads: what a post set off. Structural virality is the mean distance between two episodes of the thread (Goel et al. 2016).
with levels as (

    select run, root, depth, count(*) as breadth
    from {{ ref('int_cascade_nodes') }}
    group by all

),

shapes as (

    select
        run,
        root,
        sum(breadth)::bigint as size,
        max(depth) as depth,
        max(breadth) as max_breadth
    from levels
    group by all

),

people as (

    select run, root, count(distinct actor) as participants, max(tick) as last_tick
    from {{ ref('int_cascade_nodes') }}
    group by all

),

distances as (

    select
        subtrees.run,
        subtrees.root,
        sum(subtrees.subtree_size::double * (shapes.size - subtrees.subtree_size)) as crossings
    from {{ ref('int_cascade_subtrees') }} as subtrees
    inner join shapes
        on subtrees.run = shapes.run and subtrees.root = shapes.root
    group by all

)

select
    shapes.run,
    shapes.root,
    posts.actor as author,
    posts.tick as started,
    posts.event,
    shapes.size,
    shapes.depth,
    shapes.max_breadth,
    people.participants,
    people.last_tick - posts.tick as ticks_alive,
    2 * distances.crossings / (shapes.size::double * (shapes.size - 1)) as structural_virality
from shapes
inner join {{ ref('stg_episodes') }} as posts
    on shapes.run = posts.run and shapes.root = posts.episode
inner join people
    on shapes.run = people.run and shapes.root = people.root
inner join distances
    on shapes.run = distances.run and shapes.root = distances.root
where shapes.size > 1
