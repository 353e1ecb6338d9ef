import { RocketMQ, type GroupState, type JournalEvent, type QueueView } from "rocketmq-testkit";

/** The compiler checks this file; nothing runs it. */
export async function typed(): Promise<void> {
  await using mq = await RocketMQ.start({ topics: ["orders"] });
  const state: GroupState = await mq.group("warehouse");
  const committed: number | null = state.offsets[0]!.committed;
  const queue: QueueView = (await mq.inspect.queues("orders"))[0]!;
  const lag: number = queue.groups["warehouse"]!.lag;
  const due: Date = (await mq.clock.scheduled({ limit: 1 }))[0]!.dueAt;
  for await (const line of mq.journal.follow({ event: "refused" })) {
    const followed: JournalEvent = line;
    console.log(followed.at.getTime() - due.getTime(), committed, lag);
  }
  // @ts-expect-error  there is no such event
  await mq.journal.read({ event: "answer" });
  await using serial = await RocketMQ.start({ isolation: "reset" });
  console.log(serial.endpoint);
  const release: () => void = await serial.hold("a test", { timeout: "5s" });
  release();
  // @ts-expect-error  there is no such isolation
  await RocketMQ.start({ isolation: "none" });
  // @ts-expect-error  a duration has a unit, and so is a text
  await mq.clock.advance(30);
}
