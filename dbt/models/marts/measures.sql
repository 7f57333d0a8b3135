-- What was measured of each window: from the world's own log, not from what the memory believes.
-- The value of the window before stands beside each, so that a change can be read off.
select
    run,
    window_number,
    tick,
    coalesce(topic, '') as topic,
    coalesce("group", '') as group_name,
    measure,
    value,
    value - lag(value) over (
        partition by run, topic, "group", measure
        order by window_number
    ) as change
from {{ ref('stg_measures') }}
