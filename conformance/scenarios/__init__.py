"""The scenarios, one module for each noun.

It must not know which target runs them, or the language of the SDK.
"""
