"""JSON bodies of requests and responses, one file per domain noun.

Written as upstream writes them (fastjson 1.2): compact, members sorted by name, nulls omitted. Like the real broker,
they depart from JSON in two ways: map keys may be numbers and may be objects. Reading is tolerant: unknown members are
ignored, numbers may be strings, enums may be ordinals.
"""
