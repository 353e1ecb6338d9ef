"""Runner of cases and scenarios: selects them, runs them in threads on targets, and judges their outcomes.

It must not know how reports are written.
"""
