"""Driver of the C++ SDK of the remoting protocol, by its published wrapper for Python."""
