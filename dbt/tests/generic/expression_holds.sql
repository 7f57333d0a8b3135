{# Rows for which an expression is false, or null: there must be none. #}
{% test expression_holds(model, expression) %}
select * from {{ model }} where not coalesce({{ expression }}, false)
{% endtest %}
