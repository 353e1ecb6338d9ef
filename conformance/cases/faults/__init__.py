"""Cases of situations that a fault causes on the emulator, and configuration or a stopped process on a real broker.

A case sends the same requests to either. It must not know how the emulator carries out a fault.
"""
