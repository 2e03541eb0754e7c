import { consumer } from '../../../src/app/consumer/consumer.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { configOf, numbered } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';

// A consumer as a service runs it: it stops at SIGTERM at any time, and prints `ready` when it has joined.
const [url = '', brokers = '', address = '', group = ''] = process.argv.slice(2);
const topic = numbered(address);
const orders = consumer(openPrisma(url), {
  config: configOf(url, brokers, topic),
  group,
  window: 'forever',
}).on(topic, async () => undefined);

process.once('SIGTERM', () => {
  void orders.stop().then(() => process.exit(0));
});
try {
  await orders.start();
  process.stdout.write('ready\n');
} catch (error) {
  // The signal handler ends the process.
  if (!(error instanceof OutboxError && error.code === 'OUTBOX_STOPPED')) throw error;
}
