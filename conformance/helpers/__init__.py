"""Parts that cases of several rooms share: groups that pop, consumers, transactions, timers, full disks, and settings.

It must not know cases or records.
"""
