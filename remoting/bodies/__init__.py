"""JSON bodies of requests and answers, one file a noun.

Written as upstream writes them (fastjson 1.2): compact, members sorted by name, nulls left out, and with its two
departures from JSON where clients get them from the real broker too: numbers and objects as map keys. Read with
tolerance: unknown members are ignored, numbers may be texts, enums may be ordinals.
"""
