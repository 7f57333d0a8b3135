"""The room `store`: see its README."""
