"""Cases of statistics: totals, rates and counters of a broker.

They must not know the target: they talk to it only through `context`.
"""
