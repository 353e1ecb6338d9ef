"""A request on its way: request codes, the request table, required rights, thread pools and server-initiated requests.

It knows frames and bodies. It must not know what a single processor does, nor sockets.
"""
