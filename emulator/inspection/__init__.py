"""Inspection: read models of everything that an engine holds. Reading changes nothing.

It must not know protocols, or the form in which its readers show the data.
"""
