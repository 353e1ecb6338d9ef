"""Hypothesis without limits of time: a busy machine may pause any example, which is no defect of the tested code."""


def load() -> None:
    """Use these settings for all tests that are imported from now on. Some environments have no Hypothesis."""
    from hypothesis import HealthCheck, settings

    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")
