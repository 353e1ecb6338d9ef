"""Hypothesis without deadlines, because a shared machine may pause any example."""

from hypothesis import settings

settings.register_profile("remoting", deadline=None)
settings.load_profile("remoting")
