"""Cases of delayed delivery: delay levels, the timer wheel and recalls.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
