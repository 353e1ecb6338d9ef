"""Inspection: read models of everything that an engine holds. Looking changes nothing."""
