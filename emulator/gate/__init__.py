"""The gate: every request enters through it, is written to the journal, and leaves with its outcome.

It must not know sockets, protocols, or what an operation does.
"""
