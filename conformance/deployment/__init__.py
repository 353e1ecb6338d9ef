"""Deployments, each a running RocketMQ, and targets, which start or find them: capabilities, settings and addresses.

It must not know clients, cases or how a target starts a broker.
"""
