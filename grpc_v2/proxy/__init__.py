"""The proxy: sessions, calls, routes, long polls, renewals, transactions and access control, shared by all services.

It must not know the meaning of a single RPC, nor HTTP/2.
"""
