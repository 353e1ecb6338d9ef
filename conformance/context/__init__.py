"""The context of a case: a client of one protocol with unique names, the deployment's clock, and notes.

It must not know cases, records, or how a target starts a broker.
"""
