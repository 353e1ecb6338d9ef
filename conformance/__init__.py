"""The conformance suite: runs cases and scenarios on the emulator and on real brokers, and compares their outcomes.

It may import emulator, remoting, grpc_v2 and fixtures. They must not import it.
"""
