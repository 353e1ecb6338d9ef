'use strict';
// The verbs of consumers.

const { ConsumeResult, FilterExpression, PushConsumer, SimpleConsumer } = require('rocketmq-client-nodejs');
const { FilterType } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');
const { Command, bad, unsupported } = require('./line');
const { drain } = require('./load');
const { Script } = require('./script');

const TYPES = { TAG: FilterType.TAG, SQL92: FilterType.SQL };

/** The subscriptions of a command as [topic, filter]. */
function subscriptions(command) {
  const entries = Object.entries(command.get('table', 'sub'));
  if (!entries.length) throw bad('field sub is empty');
  return entries.map(([topic, fields]) => {
    const filter = new Command(fields);
    const type = filter.text('type', 'TAG');
    if (!Object.hasOwn(TYPES, type)) throw bad(`filter type ${type} is neither TAG nor SQL92`);
    return [topic, new FilterExpression(filter.text('expr', '*'), TYPES[type])];
  });
}

/** Starts a consumer with its first topic and subscribes to the others then; see the note at the producers. */
async function start(consumer, others) {
  await consumer.startup();
  for (const [topic, filter] of others) await consumer.subscribe(topic, filter);
  return consumer;
}

/** A push consumer and what its listener does. */
class Push {
  constructor(consumer, script) {
    this.consumer = consumer;
    this.script = script;
  }

  shutdown() {
    return this.consumer.shutdown();
  }
}

function register(driver, base, show) {
  const simple = command => driver.on(command, SimpleConsumer);
  const receive = command => simple(command).receive(command.number('max', 32), command.number('invisible_ms', 30_000));

  driver.verbs.simple = command =>
    driver.make(command, () => {
      const [first, ...others] = subscriptions(command);
      const consumer = new SimpleConsumer({
        ...base,
        namespace: command.get('text', 'namespace', ''),
        consumerGroup: command.text('group'),
        subscriptions: new Map([first]),
        awaitDuration: command.maybe('number', 'await_ms'),
      });
      return start(consumer, others);
    });

  driver.verbs.receive = async command => ({
    messages: (await receive(command)).map(view => show(view, driver.keep(view))),
  });

  driver.verbs.ack = async command => {
    const consumer = simple(command);
    for (const view of driver.kept(command)) await consumer.ack(view);
  };

  driver.verbs.invisible = async command => {
    const consumer = simple(command);
    const duration = command.number('ms');
    for (const view of driver.kept(command)) await consumer.changeInvisibleDuration(view, duration);
  };

  driver.verbs.drain = command => {
    const consumer = simple(command);
    return drain(command, async () => {
      const views = await receive(command);
      const failed = [];
      for (const view of views) await consumer.ack(view).catch(error => failed.push(error));
      return { got: views.length, failed };
    });
  };

  driver.verbs.push = command =>
    driver.make(command, async name => {
      // The order of a gRPC push consumer comes from its group; the SDK has no switch for it.
      const mode = command.text('mode', 'concurrent');
      if (!['concurrent', 'orderly'].includes(mode)) throw unsupported(`a gRPC push consumer has no mode ${mode}`);
      if (command.has('suspend')) throw unsupported("only the SDK's consumers of lite topics can suspend");
      const [first, ...others] = subscriptions(command);
      const script = new Script(command);
      const consume = async view => {
        const did = await script.listen(driver, name, show(view));
        if (did === 'throw') throw new Error('the listener throws, as the script says');
        return did === 'success' ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE;
      };
      const consumer = new PushConsumer({
        ...base,
        namespace: command.get('text', 'namespace', ''),
        consumerGroup: command.text('group'),
        subscriptions: new Map([first]),
        messageListener: { consume },
      });
      return new Push(await start(consumer, others), script);
    });

  driver.verbs.count = command => ({ count: driver.on(command, Push).script.calls });
}

module.exports = { register };
