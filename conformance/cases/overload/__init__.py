"""Room conformance/cases/overload."""
