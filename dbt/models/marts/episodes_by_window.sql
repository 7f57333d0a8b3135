-- What happened in each window, by kind of episode.
select
    episodes.run,
    episodes.window_number,
    windows.from_tick,
    windows.to_tick,
    episodes.kind,
    count(*) as episodes,
    count(distinct episodes.actor) as actors,
    count(episodes.text) as with_text,
    count(distinct episodes.text) as distinct_texts,
    count(episodes.event) as from_events
from {{ ref('stg_episodes') }} as episodes
inner join {{ ref('stg_windows') }} as windows using (run, window_number)
group by all
