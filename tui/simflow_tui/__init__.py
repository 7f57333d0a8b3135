"""simflow in the terminal."""
