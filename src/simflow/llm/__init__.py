"""The room `llm`: see its README."""
