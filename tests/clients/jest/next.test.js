import { test } from "@jest/globals";
import { RocketMQ } from "rocketmq-testkit";

test("the file before holds nothing", async () => {
  const other = await RocketMQ.connect(process.env.ROCKETMQ_CONTROL_URL);
  (await other.hold("next", { timeout: "3s" }))();
});
