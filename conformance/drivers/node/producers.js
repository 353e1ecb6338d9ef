'use strict';
// The verbs of producers.

const { Producer } = require('rocketmq-client-nodejs');
const { TransactionResolution } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');
const { bad, unsupported } = require('./line');
const { sendMany } = require('./load');
const { Answers } = require('./script');

const RESOLUTIONS = {
  COMMIT: TransactionResolution.COMMIT,
  ROLLBACK: TransactionResolution.ROLLBACK,
  UNKNOWN: TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED,
};

function resolution(command, name) {
  const word = command.text(name);
  if (!Object.hasOwn(RESOLUTIONS, word)) throw bad(`${name} is none of ${Object.keys(RESOLUTIONS).join(', ')}`);
  return word;
}

/** The message of a send command, or the one of a load with a body and keys of its own. */
function outgoing(command, body = command.bytes('body'), keys = command.get('texts', 'keys', [])) {
  for (const field of ['delay_level', 'queue']) {
    if (command.has(field)) throw unsupported(`this SDK has no ${field}`);
  }
  return {
    topic: command.text('topic'),
    body,
    tag: command.maybe('text', 'tag'),
    keys,
    properties: new Map(Object.entries(command.get('pairs', 'props', {}))),
    messageGroup: command.maybe('text', 'group'),
    deliveryTimestamp: command.has('deliver_at') ? new Date(command.number('deliver_at')) : undefined,
  };
}

function receipt(sent) {
  return {
    id: sent.messageId,
    offset: sent.offset,
    transaction: sent.transactionId || null,
    recall: sent.recallHandle || null,
  };
}

function register(driver, base, show) {
  const on = command => driver.on(command, Producer);

  driver.verbs.producer = command =>
    driver.make(command, async name => {
      const answers = command.has('check') ? new Answers(command) : null;
      const check = async view => RESOLUTIONS[answers.checked(driver, name, show(view))];
      const producer = new Producer({
        ...base,
        namespace: command.get('text', 'namespace', ''),
        // With more than one topic the start of this SDK hangs for ever when the settings come before the last route.
        // Routes of the others are fetched when they are used, unless the caller wants to see just that start.
        topics: command.get('texts', 'topics', []).slice(0, command.get('flag', 'at_once', false) ? undefined : 1),
        checker: answers === null ? undefined : { check },
      });
      await producer.startup();
      return producer;
    });

  driver.verbs.send = async command => receipt(await on(command).send(outgoing(command)));

  driver.verbs.send_many = command => {
    const producer = on(command);
    return sendMany(command, (body, keys) => producer.send(outgoing(command, body, keys ?? [])));
  };

  driver.verbs.send_tx = async command => {
    const outcome = resolution(command, 'outcome');
    const producer = on(command);
    const transaction = producer.beginTransaction();
    const reply = receipt(await producer.send(outgoing(command), transaction));
    if (outcome === 'COMMIT') await transaction.commit();
    if (outcome === 'ROLLBACK') await transaction.rollback();
    return reply;
  };

  driver.verbs.recall = async command => {
    const recalled = await on(command).recallMessage(command.text('topic'), command.text('handle'));
    return { id: recalled.messageId };
  };
}

module.exports = { register };
