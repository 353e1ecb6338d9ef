"""Mutation testing: small changes of the code, each of which a test must detect.

No published tool fits. mutmut 3 derives module names from folders, and here a folder is installed under another name.
cosmic-ray edits the checkout and starts a new interpreter for each mutant. mutatest is not maintained any more.
"""
