"""simflow for Dagster: scenarios as assets."""
