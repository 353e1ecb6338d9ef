"""Room conformance/cases/transaction."""
