-- Each episode of each thread with its depth below the thread's first episode.
with recursive nodes as (

    select
        run,
        episode as root,
        episode,
        actor,
        tick,
        0 as depth
    from {{ ref('stg_episodes') }}
    where kind = 'post'

    union all

    select
        responses.run,
        nodes.root,
        responses.episode,
        responses.actor,
        responses.tick,
        nodes.depth + 1 as depth
    from {{ ref('int_responses') }} as responses
    inner join nodes
        on responses.run = nodes.run and responses.parent = nodes.episode
    where nodes.depth < 1000

)

select * from nodes
