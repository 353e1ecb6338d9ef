import { Producer } from "rocketmq-client-nodejs";
import definitions from "rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js";

import { logger } from "./logger.js";

const { TransactionResolution } = definitions;

/** A shop that sends orders. */
export class Shop {
  #producers = [];
  #paid = new Set();

  constructor(endpoints) {
    this.endpoints = endpoints;
  }

  /** Send an order. */
  async order(number, text) {
    const producer = await this.#producer("orders");
    await producer.send({ topic: "orders", body: Buffer.from(text), keys: [number] });
  }

  /** Send a reminder that the warehouse gets at a later instant. */
  async remind(number, text, instant) {
    const producer = await this.#producer("reminders");
    await producer.send({ topic: "reminders", body: Buffer.from(text), keys: [number], deliveryTimestamp: instant });
  }

  /** Send an order that becomes visible when it is paid. */
  async orderWhenPaid(number, text) {
    const check = async (message) =>
      this.#paid.has(message.keys[0])
        ? TransactionResolution.COMMIT
        : TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED;
    const producer = await this.#producer("paid-orders", { check });
    const message = { topic: "paid-orders", body: Buffer.from(text), keys: [number] };
    await producer.send(message, producer.beginTransaction());
  }

  /** Note a payment. The broker learns of it with its next transaction check. */
  pay(number) {
    this.#paid.add(number);
  }

  async close() {
    for (const producer of this.#producers) await producer.shutdown();
  }

  async #producer(topic, checker) {
    const producer = new Producer({ endpoints: this.endpoints, topics: [topic], namespace: "", logger, checker });
    await producer.startup();
    this.#producers.push(producer);
    return producer;
  }
}
