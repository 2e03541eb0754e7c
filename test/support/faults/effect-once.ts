import { expect, inject, onTestFinished } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { sendBatch } from '../../../src/outbox/send.ts';
import { createTestDatabase } from '../fixtures/database.ts';
import { numbered, range, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import { until } from '../fixtures/until.ts';
import { type Place, transportAt } from '../processes/place.ts';
import { startProgram } from '../processes/program.ts';
import { openFaultStage } from './fault-stage.ts';

export interface EffectOnceOptions {
  /** The server, as the relay and the last consumer reach it. */
  readonly place: Place;
  readonly address: string;
  /** Of messages. */
  readonly count: number;
}

/** Messages from a relay to two consumers in turn, of which the first is killed. */
export interface EffectOnceStage {
  /** Commits the messages. */
  commit(): Promise<void>;
  /**
   * Runs a consumer, one message at a time, that dies after it has committed the effect of the `pass`-th and before it
   * acknowledges it.
   *
   * @param place @defaultValue that of the stage
   */
  runKilled(pass: number, place?: Place): Promise<void>;
  /** Starts the last consumer, and expects each effect once and in the order of its key. */
  expectRest(withinMs?: number): Promise<void>;
}

/** The consumer group. */
export const group = 'billing';
const keys = 3;

export async function openEffectOnceStage({
  address,
  count,
  place,
}: EffectOnceOptions): Promise<EffectOnceStage> {
  const made = await createTestDatabase();
  const { database, url } = made;
  onTestFinished(() => made.drop());
  await database.query('create table effect (seq bigserial, n int, part int, consumer text)');
  const topic = numbered(address);
  const stage = openFaultStage(
    { onTestFinished },
    { url, topics: [topic], transport: () => transportAt(place) },
  );
  await stage.relay();
  const effects = (): Promise<readonly { readonly n: number; readonly consumer: string }[]> =>
    database.query('select n, consumer from effect order by seq');
  return {
    async commit() {
      const messages = range(1, count).map((n) => ({ payload: { n }, key: `key-${n % keys}` }));
      await stage.commit((tx) => sendBatch(tx, topic, messages));
    },
    async runKilled(pass, reached = place) {
      const crash = { point: 'inbox:committed', pass } as const;
      const settings = { url, place: reached, address, group, name: 'killed', crash };
      const ended = await startProgram('consumer-main', settings).exited;
      expect(ended).toBe('SIGKILL');
    },
    async expectRest(withinMs) {
      const prisma = openPrisma(url, { max: 15 });
      onTestFinished(() => prisma.$disconnect());
      const config = {
        database: { url },
        temporal: { address: inject('temporalAddress') },
        topics: [topic],
        transports: { only: transportAt(place) },
      };
      const last = await consumer(prisma, { config, group, keyConcurrency: 1, logger: false })
        .on(topic, (tx, message) => writeEffect(tx, 'last', message))
        .start();
      onTestFinished(() => last.stop());
      await until(async () => (await effects()).length >= count, withinMs);
      await stage.untilDone();
      const found = await effects();
      expect(found.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(range(1, count));
      expect(new Set(found.map((row) => row.consumer))).toEqual(new Set(['killed', 'last']));
      for (let key = 0; key < keys; key += 1) {
        const row = found.map(({ n }) => n).filter((n) => n % keys === key);
        expect(row).toEqual(row.toSorted((a, b) => a - b));
      }
      // What was committed and not acknowledged came again.
      expect(last.counts().duplicates).toBeGreaterThan(0);
    },
  };
}
