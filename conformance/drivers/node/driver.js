'use strict';
// Drives the Node.js SDK of the gRPC protocol (rocketmq-client-nodejs) by the driver protocol.

const { parseArgs } = require('node:util');
const { Driver, protectStdout } = require('./line');

const PACKAGE = 'rocketmq-client-nodejs';

function options() {
  const { values } = parseArgs({
    options: {
      endpoint: { type: 'string' },
      tls: { type: 'boolean', default: false },
      ca: { type: 'string' },
      slow: { type: 'boolean' }, // not used: this SDK has no intervals to shorten
    },
  });
  if (!values.endpoint) throw new Error('--endpoint HOST:PORT is missing');
  return values;
}

/** The message as the protocol shows it; the SDK knows the queue that it asked only. */
function show(view, handle = null) {
  return {
    h: handle,
    id: view.messageId,
    topic: view.topic,
    body: view.body.toString('base64'),
    tag: view.tag || null,
    keys: [...view.keys],
    props: Object.fromEntries(view.properties),
    group: view.messageGroup || null,
    attempt: view.deliveryAttempt || null,
    queue: null,
    offset: view.offset ?? null,
    born: view.bornTimestamp?.getTime() ?? null,
    deliver_at: view.deliveryTimestamp?.getTime() ?? null,
    stored: null,
    offset_id: null,
    broker: null,
    born_host: view.bornHost || null,
    store_host: null,
  };
}

function main() {
  let values;
  try {
    values = options();
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
  protectStdout();
  // gRPC reads this when it is loaded.
  if (values.ca) process.env.GRPC_DEFAULT_SSL_ROOTS_FILE_PATH = values.ca;
  // What the SDK does in the background may fail without anybody waiting for it; a broker that is away is no reason to
  // end the driver.
  for (const event of ['unhandledRejection', 'uncaughtException']) {
    process.on(event, error => console.error(event, error));
  }
  const driver = new Driver({
    sdk: PACKAGE,
    version: require(`${PACKAGE}/package.json`).version,
    language: 'javascript',
    protocol: 'grpc',
    modes: ['concurrent', 'orderly'],
    outcomes: ['success', 'fail', 'hang', 'throw'],
    options: ['namespace'],
  });
  const quiet = () => {};
  const base = {
    endpoints: values.endpoint,
    namespace: '',
    sslEnabled: values.tls,
    ...(process.env.TESTKIT_ACCESS_KEY && {
      sessionCredentials: {
        accessKey: process.env.TESTKIT_ACCESS_KEY,
        accessSecret: process.env.TESTKIT_SECRET_KEY,
      },
    }),
    logger: { debug: quiet, info: quiet, warn: console.error, error: console.error, close: quiet },
  };
  require('./producers').register(driver, base, show);
  require('./consumers').register(driver, base, show);
  driver.verbs.close = async command => {
    await driver.take(command).shutdown();
  };
  driver.run();
}

main();
