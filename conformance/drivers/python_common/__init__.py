"""Shared code of the Python SDKs' drivers; runs in the environment of the SDK, with only the standard library.

It must not import the rest of the package, and must not know scenarios.
"""
