"""Room remoting/server."""
