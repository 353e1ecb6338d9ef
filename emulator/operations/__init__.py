"""Operations and results: every request that a client can send to a broker or a name server, and its response.

Each request and each result is one class; both protocols are converted to them. They carry values, never bytes of a
protocol header, and contain no rules. Units are in the names: `_ms` is milliseconds. Offsets are logical queue offsets
unless they are called physical.
"""
