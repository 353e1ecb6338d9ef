"""Cases of authentication and authorization, and of the requests that manage users and rights.

They must not know the target: they talk to it only through `context`.
"""
