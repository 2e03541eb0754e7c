import { consumer } from '../../../src/app/consumer/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { configOf, numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import type { FrozenConsumerSettings } from './frozen-consumer.ts';

// A consumer that stops itself after a commit; `frozen-consumer.ts` starts it with its settings.
const { address, brokers, group, name, stopAt, url } = JSON.parse(
  process.argv[2] ?? '',
) as FrozenConsumerSettings;
const topic = numbered(address);

crashAt('inbox:committed', {
  pass: stopAt.commits,
  instead: () => process.kill(process.pid, stopAt.signal),
});
await consumer(openPrisma(url), {
  config: configOf(url, brokers, topic),
  group,
  report: ({ type }) => process.stdout.write(`${JSON.stringify({ type })}\n`),
})
  .on(topic, (tx, message) => writeEffect(tx, name, message))
  .start();
