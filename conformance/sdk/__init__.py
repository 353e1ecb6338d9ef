"""SDK clients of scenarios: driver processes of one SDK, their producers and consumers, and sends of many messages.

It must not know scenarios, records or how a target starts a broker.
"""
