"""Pages of the documentation that are made from cases, scenarios and records.

It must not run anything.
"""
