"""The room `world`: see its README."""
