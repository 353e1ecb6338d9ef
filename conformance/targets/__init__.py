"""Targets of cases, scenarios and benchmarks: the emulator, Apache's broker, or a running deployment.

A target lends deployments and names its capabilities. It must not know the cases that run on it.
"""
