"""Version 1 of the engine."""
