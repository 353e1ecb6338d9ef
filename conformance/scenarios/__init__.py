"""The scenarios, one module for each noun. They must not know a target or the language of an SDK."""
