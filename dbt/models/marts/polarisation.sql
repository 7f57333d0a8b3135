-- Polarisation and echo chambers by window and topic, from what the memory believed then. Formulas: docs/tables.md.
with shape as (

    select
        run,
        window_number,
        tick,
        topic,
        count(*) as agents,
        avg(value) as mean_stance,
        var_pop(value) as variance,
        max(value) - min(value) as spread,
        if(count(*) > 3 and var_pop(value) > 1e-9, skewness(value), null) as skew,
        if(count(*) > 3 and var_pop(value) > 1e-9, kurtosis(value), null) as excess_kurtosis,
        avg(if(value < -0.15, 1.0, 0.0)) as share_against,
        avg(if(value > 0.15, 1.0, 0.0)) as share_for
    from {{ ref('int_beliefs_at_window_end') }}
    group by all

),

counted as (

    select
        run,
        window_number,
        topic,
        least(4, floor((value + 1) / 0.4))::int as class,
        count(*)::double as agents,
        avg(value) as centre
    from {{ ref('int_beliefs_at_window_end') }}
    group by all

),

classes as (

    select
        *,
        agents / sum(agents) over (partition by run, window_number, topic) as share
    from counted

),

-- Esteban and Ray with alpha 1.3 on five stance classes, so scaled that two equal camps at the ends give 1.
esteban_ray as (

    select
        a.run,
        a.window_number,
        a.topic,
        sum(pow(a.share, 2.3) * b.share * abs(a.centre - b.centre)) / (2 * pow(0.5, 2.3) * 0.5 * 2) as esteban_ray
    from classes as a
    inner join classes as b
        on a.run = b.run and a.window_number = b.window_number and a.topic = b.topic
    group by all

),

contacts as (

    select
        responses.run,
        responses.window_number,
        actor.topic,
        actor.value as actor_value,
        parent.value as parent_value
    from {{ ref('int_responses') }} as responses
    inner join {{ ref('int_beliefs_at_window_end') }} as actor
        on responses.run = actor.run and responses.window_number = actor.window_number and responses.actor = actor.agent
    inner join {{ ref('int_beliefs_at_window_end') }} as parent
        on responses.run = parent.run and responses.window_number = parent.window_number
        and responses.parent_actor = parent.agent and actor.topic = parent.topic
    where responses.actor != responses.parent_actor

),

-- Krackhardt and Stern: (external - internal) / all, over answers between agents on a known side.
camps as (

    select
        run,
        window_number,
        topic,
        count(*) as answers,
        avg(if(actor_value * parent_value < 0, 1.0, -1.0)) filter (where actor_value * parent_value != 0) as ei_index,
        if(var_pop(actor_value) > 1e-12 and var_pop(parent_value) > 1e-12, corr(actor_value, parent_value), null) as assortativity
    from contacts
    group by all

)

select
    shape.run,
    shape.window_number,
    shape.tick,
    shape.topic,
    shape.agents,
    shape.mean_stance,
    shape.variance,
    shape.spread,
    (shape.skew * shape.skew + 1)
    / (shape.excess_kurtosis + 3.0 * (shape.agents - 1) * (shape.agents - 1) / ((shape.agents - 2) * (shape.agents - 3)))
        as bimodality_coefficient,
    esteban_ray.esteban_ray,
    shape.share_against,
    shape.share_for,
    coalesce(camps.answers, 0) as answers,
    camps.ei_index,
    camps.assortativity
from shape
inner join esteban_ray
    on shape.run = esteban_ray.run and shape.window_number = esteban_ray.window_number and shape.topic = esteban_ray.topic
left join camps
    on shape.run = camps.run and shape.window_number = camps.window_number and shape.topic = camps.topic
