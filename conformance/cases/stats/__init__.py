"""Room conformance/cases/stats."""
