"""The room `cli`: see its README."""
