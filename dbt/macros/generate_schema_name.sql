{# Schemas are named as the project says, without a prefix: marts are in main, the rest in staging and intermediate. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name | trim if custom_schema_name else target.schema }}
{%- endmacro %}
