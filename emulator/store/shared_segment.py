"""The bytes of a segment of the commit log that a fork shares with other engines."""

from bisect import bisect_right


class SharedSegment:
    """The first bytes of a segment, in buffers of other engines, of which only the present bytes are read."""

    __slots__ = ("_buffers", "_starts", "length")

    def __init__(self, buffers: tuple[bytearray, ...], starts: tuple[int, ...], length: int) -> None:
        """`starts`: the position of the first byte of each buffer; `length`: the number of all shared bytes."""
        self._buffers = buffers
        self._starts = starts
        self.length = length

    def parts(self) -> list[tuple[bytearray, int]]:
        """Return the buffers, each with the number of bytes to read."""
        ends = (*self._starts[1:], self.length)
        return [(buffer, end - start) for buffer, start, end in zip(self._buffers, self._starts, ends, strict=True)]

    def find(self, at: int) -> tuple[bytearray, int, int]:
        """Return the buffer with a position of the segment, the position in it, and the end of its shared bytes."""
        starts = self._starts
        if at >= starts[-1]:
            return self._buffers[-1], at - starts[-1], self.length - starts[-1]
        number = bisect_right(starts, at) - 1
        return self._buffers[number], at - starts[number], starts[number + 1] - starts[number]

    def with_more(self, buffer: bytearray) -> "SharedSegment":
        """Return the shared bytes of a segment that continues with the present bytes of a buffer."""
        if not buffer:
            return self
        return SharedSegment((*self._buffers, buffer), (*self._starts, self.length), self.length + len(buffer))

    def cut(self, length: int) -> "SharedSegment":
        """Return the first `length` shared bytes (at least one)."""
        kept = bisect_right(self._starts, length - 1)
        return SharedSegment(self._buffers[:kept], self._starts[:kept], length)
