"""A running RocketMQ and the target that lends it: capabilities, settings, addresses and access.

It must not know clients, cases or how a target starts a broker.
"""
