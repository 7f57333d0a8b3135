-- Edges are append-only: the newest version of an edge is its present state.
select *
from {{ ref('stg_edges') }}
qualify row_number() over (partition by run, edge order by version desc) = 1
