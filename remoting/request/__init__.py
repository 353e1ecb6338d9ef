"""Room remoting/request."""
