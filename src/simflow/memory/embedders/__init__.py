"""The room `memory/embedders`: see its README."""
