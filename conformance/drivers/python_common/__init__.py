"""What the drivers of SDKs for Python have in common; runs in the environment of the SDK, with the standard library."""
