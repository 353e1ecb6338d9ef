"""Shared code of the Python SDKs' drivers; runs in the environment of the SDK, with only the standard library."""
