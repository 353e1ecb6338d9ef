"""Reports of a run: terminal output, JSON document, JUnit XML and HTML page.

A report reads outcomes; it must not run cases or know their targets.
"""
