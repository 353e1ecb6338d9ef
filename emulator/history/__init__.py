"""History: bounded records of deliveries and of other past events that no table of a broker keeps.

Other rooms call it with each event. It must not know brokers, and no rule may depend on it.
"""
