{# Where the state of the project is. #}
{% macro simflow_home() -%}
    {{ return(env_var('SIMFLOW_HOME', '../.simflow')) }}
{%- endmacro %}

{# A file of the catalog that simflow writes before each build: `runs` or `windows`. #}
{% macro catalog(source_relation) -%}
    read_parquet('{{ simflow_home() }}/catalog/{{ source_relation.identifier }}.parquet')
{%- endmacro %}

{#
  The Parquet files of one table, one for each window that a run has committed, by their exact paths: half-written or orphaned windows
  are never read. The first file is empty and gives the columns when there is no window yet. Each row says its file in `filename`.
  folder: the column of the catalog that says where the files of a window are; windows where it is null have none.
#}
{% macro window_files(source_relation, folder='folder') -%}
    {%- set table = source_relation.identifier -%}
    {%- set files = [simflow_home() ~ '/catalog/empty/' ~ table ~ '.parquet'] -%}
    {%- if execute -%}
        {%- set folders = run_query("select distinct " ~ folder ~ " from read_parquet('" ~ simflow_home() ~ "/catalog/windows.parquet') where is_present and " ~ folder ~ " is not null order by 1") -%}
        {%- for place in folders.columns[0].values() -%}
            {%- do files.append(place ~ '/' ~ table ~ '.parquet') -%}
        {%- endfor -%}
    {%- endif -%}
    read_parquet(
        [
            {%- for file in files %}
            '{{ file | replace("'", "''") }}'{{ "," if not loop.last }}
            {%- endfor %}
        ],
        filename = true,
        union_by_name = true
    )
{%- endmacro %}

{# Rows of a table for each run that has the window: windows are shared by content, runs see them as their own. #}
{% macro rows_by_run(source_relation, folder='folder') -%}
    select
        windows.run,
        windows.window_number,
        files.* exclude (filename)
    from {{ window_files(source_relation, folder) }} as files
    inner join {{ ref('stg_windows') }} as windows
        on parse_dirpath(files.filename) = windows.{{ folder }}
{%- endmacro %}
