"""Inspection: read models of everything that an engine holds. Reading changes nothing."""
