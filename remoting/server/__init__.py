"""The server of the remoting protocol: connections, channels, and the dispatch of requests to processors.

Only `twisted_server` may know Twisted; the rest works without sockets. It must not know what a request means.
"""
