"""Pages of the documentation that are made from cases, scenarios and records.

They must not run anything.
"""
