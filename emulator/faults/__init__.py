"""Faults: rules that lose, delay, refuse, corrupt or cut what clients and brokers exchange, as data.

It must not know sockets, threads or the wall clock: the gate asks it for each request, and the servers carry out.
"""
