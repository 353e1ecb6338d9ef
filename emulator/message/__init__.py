"""A message, its properties, its names and its stored form.

It must not know topics' configuration, the store or the broker's rules; it imports only the kernel.
"""
