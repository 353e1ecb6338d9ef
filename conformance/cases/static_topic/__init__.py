"""Room conformance/cases/static_topic."""
