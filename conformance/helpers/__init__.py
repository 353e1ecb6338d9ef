"""Parts that cases of several rooms share: groups that pop, consumers, transactions, timers, full disks, and settings.

They must not know cases or records.
"""
