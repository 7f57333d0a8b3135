select * from {{ catalog(source('catalog', 'runs')) }}
