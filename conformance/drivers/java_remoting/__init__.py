"""Driver of the Java remoting SDK, built against its newest version and the last of the 4.9 line.

It carries out commands with the published SDK. It must not know scenarios, or whether the broker is an emulator.
"""
