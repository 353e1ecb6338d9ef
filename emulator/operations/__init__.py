"""Operations and results: every request that a client can send to a broker or a name server, and its response.

One class each, with units in the names (`_ms`). Offsets are logical unless they are called physical. An operation must
not know rules, or bytes of a protocol.
"""
