import { consumer } from '../../../src/app/consumer/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import { type Place, transportAt } from './place.ts';
import type { Crash } from './program.ts';

/** A consumer that stops itself at the n-th pass of a crash point; it tells the types of its events, one per line. */
export interface ConsumerProcessSettings {
  readonly url: string;
  readonly place: Place;
  readonly address: string;
  readonly group: string;
  /** Written with each of its effects. */
  readonly name: string;
  /** The signal is one that it sends to itself. @defaultValue SIGKILL */
  readonly crash: Crash & { readonly signal?: 'SIGSTOP' };
}

const settings = JSON.parse(process.argv[2] ?? '') as ConsumerProcessSettings;
const { address, crash, group, name, place, url } = settings;
const topic = numbered(address);

crashAt(crash.point, {
  pass: crash.pass,
  instead: () => process.kill(process.pid, crash.signal ?? 'SIGKILL'),
});
await consumer(openPrisma(url, { max: 15 }), {
  config: {
    database: { url },
    temporal: {},
    topics: [topic],
    transports: { only: transportAt(place) },
  },
  group,
  report: ({ type }) => process.stdout.write(`${type}\n`),
})
  .on(topic, (tx, message) => writeEffect(tx, name, message))
  .start();
