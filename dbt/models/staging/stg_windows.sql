select * from {{ catalog(source('catalog', 'windows')) }} where is_present
