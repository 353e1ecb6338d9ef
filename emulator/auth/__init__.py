"""Users and ACL policies, the authentication and authorization of requests, and admin requests for them.

It must not know what a request does: upper layers pass the rights that it requires.
"""
