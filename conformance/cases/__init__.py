"""The cases, one module for each noun."""
