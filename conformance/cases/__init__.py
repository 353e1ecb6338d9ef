"""The conformance cases, in rooms named like those of the emulator.

Each module is one noun, under which its cases are published. A case must not know the target that it runs against.
"""
