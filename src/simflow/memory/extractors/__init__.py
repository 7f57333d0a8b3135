"""The room `memory/extractors`: see its README."""
