"""Driver of the Go SDK of the remoting protocol."""
