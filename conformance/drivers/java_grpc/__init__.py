"""Driver of the Java gRPC SDK, built against its newest and its oldest supported version.

It carries out commands with the published SDK. It must not know scenarios, or whether the broker is an emulator.
"""
