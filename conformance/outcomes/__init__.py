"""Outcomes: recorded ones of real brokers, their comparison, and known and expected differences with their reasons.

It must not know how an outcome comes about.
"""
