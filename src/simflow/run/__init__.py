"""The room `run`: see its README."""
