"""The proxy: sessions, calls, routes, long polls, renewals, transactions and access control, shared by all services.

It must not know what a single RPC does, nor HTTP/2.
"""
