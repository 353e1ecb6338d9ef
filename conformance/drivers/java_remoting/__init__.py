"""Driver of the Java remoting SDK, built against its newest version and the last of the 4.9 line."""
