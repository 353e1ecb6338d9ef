"""How the findings of a run are shown."""
