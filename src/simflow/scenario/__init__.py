"""The room `scenario`: see its README."""
