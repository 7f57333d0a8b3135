-- Who moved whom: a reader's change of stance in a window is shared among the authors that it saw then and that stood on the side it
-- moved to, by impressions times distance. An attribution from what the memory knows, not a proof of cause.
with changes as (

    select
        run,
        window_number,
        agent,
        topic,
        value,
        value - lag(value) over (partition by run, agent, topic order by window_number) as change
    from {{ ref('int_beliefs_at_window_end') }}

),

seen as (

    select
        exposures.run,
        exposures.window_number,
        exposures.reader,
        episodes.actor as author,
        count(*) as impressions
    from {{ ref('stg_exposures') }} as exposures
    inner join {{ ref('stg_episodes') }} as episodes
        on exposures.run = episodes.run and exposures.episode = episodes.episode
    where exposures.reader != episodes.actor
    group by all

),

pulls as (

    select
        changes.run,
        changes.window_number,
        changes.topic,
        seen.author,
        changes.agent as reader,
        seen.impressions,
        changes.change,
        greatest(0, seen.impressions * (author.value - (changes.value - changes.change)) * sign(changes.change)) as pull
    from changes
    inner join seen
        on changes.run = seen.run and changes.window_number = seen.window_number and changes.agent = seen.reader
    inner join {{ ref('int_beliefs_at_window_end') }} as author
        on changes.run = author.run and changes.window_number = author.window_number
        and seen.author = author.agent and changes.topic = author.topic
    where changes.change != 0

),

shares as (

    select
        *,
        pull / sum(pull) over (partition by run, window_number, topic, reader) as share
    from pulls
    where pull > 0

)

select
    run,
    topic,
    author,
    reader,
    sum(impressions)::bigint as impressions,
    count(*) as windows,
    sum(change * share) as attributed_change,
    sum(abs(change) * share) as attributed_movement
from shares
group by all
