"""Cases of popping: pop, acknowledgement, invisible duration, redelivery, order and long polling.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
