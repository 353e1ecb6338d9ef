"""The scenarios, one module for each noun."""
