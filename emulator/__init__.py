"""The engine: rules, state and time of a RocketMQ cluster, without sockets, threads, wall clock or chance of its own.

It must not know any protocol. Standard library only.
"""
