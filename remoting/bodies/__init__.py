"""JSON bodies of requests and responses, one file per domain noun.

Written as upstream writes them (fastjson 1.2): members sorted by name, nulls omitted, map keys that may be numbers or
objects. Reading ignores unknown members. It must not know request codes or rules about messages.
"""
