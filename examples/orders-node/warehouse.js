import { ConsumeResult, FilterExpression, PushConsumer } from "rocketmq-client-nodejs";

import { logger } from "./logger.js";

export const GROUP = "warehouse";

/** A warehouse that ships orders: it calls `ship` for each order, and again later if `ship` fails. */
export class Warehouse {
  #consumer;
  shipped = [];

  constructor(endpoints, topic, ship) {
    const consume = async (message) => {
      try {
        await ship(message.body.toString());
      } catch {
        return ConsumeResult.FAILURE;
      }
      this.shipped.push(message.body.toString());
      return ConsumeResult.SUCCESS;
    };
    this.#consumer = new PushConsumer({
      endpoints,
      namespace: "",
      logger,
      consumerGroup: GROUP,
      subscriptions: new Map([[topic, new FilterExpression("*")]]),
      messageListener: { consume },
    });
  }

  start() {
    return this.#consumer.startup();
  }

  close() {
    return this.#consumer.shutdown();
  }
}
