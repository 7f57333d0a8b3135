-- Variants of a scenario against each other, paired by seed and sweep: the same residents, the same chances, one change.
-- Only the latest run of each cell counts, and only where both have the same number of ticks.
with outcomes as (

    select runs.run, 'mean_stance' as outcome, last.topic, last.mean_stance as value
    from {{ ref('runs') }} as runs
    inner join {{ ref('polarisation') }} as last
        on runs.run = last.run and runs.committed_ticks = last.tick

    union all

    select runs.run, 'variance' as outcome, last.topic, last.variance as value
    from {{ ref('runs') }} as runs
    inner join {{ ref('polarisation') }} as last
        on runs.run = last.run and runs.committed_ticks = last.tick

    union all

    select run, 'episodes' as outcome, '' as topic, episodes::double as value
    from {{ ref('runs') }}

),

pairs as (

    select
        a.scenario,
        a.sweep,
        a.variant as reference,
        b.variant,
        a.committed_ticks as ticks,
        outcomes_a.outcome,
        outcomes_a.topic,
        outcomes_b.value - outcomes_a.value as difference
    from {{ ref('runs') }} as a
    inner join {{ ref('runs') }} as b
        on a.scenario = b.scenario and a.sweep = b.sweep and a.seed = b.seed
        and a.committed_ticks = b.committed_ticks and a.variant != b.variant
    inner join outcomes as outcomes_a on a.run = outcomes_a.run
    inner join outcomes as outcomes_b
        on b.run = outcomes_b.run and outcomes_a.outcome = outcomes_b.outcome and outcomes_a.topic = outcomes_b.topic
    where a.is_latest and b.is_latest

),

-- Student's t at 97.5 % by degrees of freedom; beyond 30 the normal value.
quantiles (df, t) as (
    values
    (1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365), (8, 2.306), (9, 2.262), (10, 2.228),
    (11, 2.201), (12, 2.179), (13, 2.160), (14, 2.145), (15, 2.131), (16, 2.120), (17, 2.110), (18, 2.101), (19, 2.093), (20, 2.086),
    (21, 2.080), (22, 2.074), (23, 2.069), (24, 2.064), (25, 2.060), (26, 2.056), (27, 2.052), (28, 2.048), (29, 2.045), (30, 2.042)
),

summed as (

    select
        scenario,
        sweep,
        reference,
        variant,
        ticks,
        outcome,
        topic,
        count(*) as pairs,
        avg(difference) as mean_difference,
        stddev_samp(difference) as sd_difference,
        stddev_samp(difference) / sqrt(count(*)) as standard_error
    from pairs
    group by all

)

select
    summed.*,
    summed.mean_difference - coalesce(quantiles.t, 1.96) * summed.standard_error as low,
    summed.mean_difference + coalesce(quantiles.t, 1.96) * summed.standard_error as high
from summed
left join quantiles
    on summed.pairs - 1 = quantiles.df
