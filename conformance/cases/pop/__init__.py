"""Room conformance/cases/pop."""
