"""The room `memory`: see its README."""
