-- What is wrong with the data of each run, by rule: how many rows were looked at and how many break it.
with episodes as (
    select * from {{ ref('stg_episodes') }}
),

exposures as (
    select distinct run, reader, episode from {{ ref('stg_exposures') }}
),

findings as (

    select run, 'duplicate_episodes' as rule, true as is_error, count(*) as looked_at, count(*) - count(distinct episode) as breaks
    from episodes
    group by run

    union all

    select episodes.run, 'episodes_outside_their_window', true, count(*),
        count(*) filter (where episodes.tick < windows.from_tick or episodes.tick >= windows.to_tick)
    from episodes
    inner join {{ ref('stg_windows') }} as windows
        on episodes.run = windows.run and episodes.window_number = windows.window_number
    group by episodes.run

    union all

    select child.run, 'answers_before_what_they_answer', true, count(*), count(*) filter (where child.tick < parent.tick)
    from episodes as child
    inner join episodes as parent
        on child.run = parent.run and child.parent = parent.episode
    group by child.run

    union all

    -- A trace may answer posts that it does not hold.
    select child.run, 'answers_to_unknown_episodes', false, count(*), count(*) filter (where parent.episode is null)
    from episodes as child
    left join episodes as parent
        on child.run = parent.run and child.parent = parent.episode
    where child.parent is not null
    group by child.run

    union all

    select acts.run, 'acted_without_exposure', false, count(*), count(*) filter (where exposures.episode is null)
    from episodes as acts
    left join exposures
        on acts.run = exposures.run and acts.actor = exposures.reader and acts.parent = exposures.episode
    where
        acts.parent is not null
        and acts.kind in ('reply', 'repost', 'quote', 'message', 'group', 'like', 'dislike', 'report')
    group by acts.run

    union all

    select exposures.run, 'shown_before_it_happened', true, count(*), count(*) filter (where exposures.tick < episodes.tick)
    from {{ ref('stg_exposures') }} as exposures
    inner join episodes
        on exposures.run = episodes.run and exposures.episode = episodes.episode
    group by exposures.run

    union all

    select run, 'edges_without_evidence', true, count(*), count(*) filter (where len(evidence) = 0)
    from {{ ref('stg_edges') }}
    group by run

    union all

    select claims.run, 'claims_on_unknown_episodes', true, count(*), count(*) filter (where episodes.episode is null)
    from {{ ref('stg_claims') }} as claims
    left join episodes
        on claims.run = episodes.run and claims.episode = episodes.episode
    group by claims.run

    union all

    select run, 'claims_from_the_future', true, count(*), count(*) filter (where learnt < tick)
    from {{ ref('stg_claims') }}
    group by run

    union all

    select claims.run, 'quotes_that_were_not_said', true, count(*), count(*) filter (where not contains(episodes.text, claims.quote))
    from {{ ref('stg_claims') }} as claims
    inner join episodes
        on claims.run = episodes.run and claims.episode = episodes.episode
    where claims.quote is not null and episodes.text is not null
    group by claims.run

    union all

    select run, 'repeated_texts', false, count(text), count(text) - count(distinct text)
    from episodes
    where kind in ('post', 'reply', 'quote', 'message', 'group')
    group by run

    union all

    select run, 'windows_whose_files_are_gone', true, count(*), count(*) filter (where not is_present)
    from {{ catalog(source('catalog', 'windows')) }}
    group by run

)

select
    run,
    rule,
    is_error,
    looked_at,
    breaks,
    breaks / greatest(looked_at, 1) as share,
    breaks = 0 as holds
from findings
