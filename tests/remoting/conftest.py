"""Hypothesis profile without deadlines, because a busy machine may pause any example."""

from hypothesis import settings

settings.register_profile("remoting", deadline=None)
settings.load_profile("remoting")
