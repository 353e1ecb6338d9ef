"""Writes the data types of the helpers for Java, Go and Node from docs/openapi.json.

The helpers' methods are written by hand: overloads, options and iterators differ by language. Their result types have
the same fields in each language, so that they are generated.
"""
