"""Faults: rules, declared as data, that lose, delay, refuse, corrupt or cut exchanges of clients and brokers.

It must not know sockets, threads or the wall clock: the gate submits each request to it, and the servers act.
"""
