"""The room `bench`: see its README."""
