"""The room `evaluation`: see its README."""
