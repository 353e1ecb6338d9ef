"""Random choices from an injected seed: named streams of numbers, all derived from one seed.

Each user of randomness has a stream under its own name: an extra draw from one stream does not shift the others. The
same seed replays the same run under any hash seed of the interpreter.
"""

from collections.abc import Mapping
from zlib import crc32

_MASK = (1 << 64) - 1


class RandomStream:
    """A SplitMix64 generator."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK
        """The complete state: a stream created with this value as its seed continues with the same numbers."""

    def bits(self) -> int:
        """Draw a number from 0 to 2**64 - 1."""
        self.state = state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return state ^ (state >> 31)

    def below(self, bound: int) -> int:
        """Draw a number from 0 to `bound` - 1 (`bound` >= 1)."""
        return self.bits() % bound


class RandomStreams:
    """The random streams of one engine. `states` restores streams, by name."""

    def __init__(self, seed: int, states: Mapping[str, int] | None = None) -> None:
        self.seed = seed
        self._streams: dict[str, RandomStream] = {name: RandomStream(state) for name, state in (states or {}).items()}

    def states(self) -> dict[str, int]:
        """Return the state of each stream, sorted by name."""
        return {name: self._streams[name].state for name in sorted(self._streams)}

    def stream(self, name: str) -> RandomStream:
        """Return the stream with this name, created at first use."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = self._new_stream(name)
        return stream

    def fixed(self, name: str, bound: int) -> int:
        """Return a number from 0 to `bound` - 1 (`bound` >= 1) that depends only on the seed and the name."""
        return self._new_stream(name).below(bound)

    def _new_stream(self, name: str) -> RandomStream:
        name_hash = crc32(name.encode())
        return RandomStream(RandomStream(self.seed ^ (name_hash << 32) ^ name_hash).bits())
