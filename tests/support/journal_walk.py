"""Execute random operations on an engine; as a program, print the journal for the seed of its argument."""

import sys

from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.kernel.random_streams import RandomStreams
from rocketmq_testkit.emulator.operations.consume import PopResult


def walk(seed: int) -> EngineHarness:
    """Run 400 steps of sends, pops, acknowledgements and jumps of the clock."""
    harness = make_harness(seed)
    draw = RandomStreams(seed + 1).stream("walk")
    for topic in ("A", "B"):
        harness.topic(topic, 3)
    for step in range(400):
        topic = "AB"[draw.below(2)]
        kind = draw.below(10)
        if kind < 4:
            harness.send(topic, b"%d" % step, queue=-1, TAGS="xyz"[draw.below(3)])
        elif kind < 8:
            outcome = harness.pop(
                topic, count=1 + draw.below(5), poll_ms=draw.below(3) * 1000, invisible_ms=3000
            ).outcome
            if isinstance(outcome, PopResult) and outcome.messages and draw.below(2):
                harness.last_pop = outcome
                harness.ack(topic, harness.receipt(outcome.messages[0]))
        else:
            harness.advance(draw.below(5000))
    return harness


if __name__ == "__main__":
    for entry in walk(int(sys.argv[1])).engine.journal:
        print(entry)
