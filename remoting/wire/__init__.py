"""Room remoting/wire."""
