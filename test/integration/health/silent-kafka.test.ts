// @module-tag apart
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type LocalKafka, startKafka } from '../../../dev/servers/index.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import type { Health } from '../../../src/core/health.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { configOf, InboxStage } from '../../support/fixtures/inbox-stage.ts';
import { failing, untilProgress, untilWell } from '../../support/fixtures/told-health.ts';
import { until } from '../../support/fixtures/until.ts';
import { freeze } from '../../support/processes/frozen-process.ts';

/** A second for what the product does besides. */
const promisedMs = 3_000 + 1_000;

let servers: LocalKafka;
let pid: number;

beforeAll(async () => {
  servers = await startKafka({ env: { ...process.env, KAFKA_BROKERS: '' } });
  pid = servers.nodes[0]?.pid ?? 0;
});
afterEach(() => process.kill(pid, 'SIGCONT'));
afterAll(() => servers.stop());

const broker = () => `kafka ${servers.brokers.join()}`;

/** Waits until something fails, and returns how long that took, as far as this process had a processor. */
async function untilTold(some: { health(): Health }): Promise<number> {
  const awakeMs = awake();
  await until(() => failing(some).length > 0, 60_000);
  return awakeMs();
}

test('a Kafka that does not answer is unhealthy after three seconds until it answers, also while nothing arrives', {
  tags: ['silent-broker-shown'],
}, async (context) => {
  const stage = await InboxStage.create(1, servers.brokers.join());
  context.onTestFinished(() => stage.end());
  const running = await stage.consume('one');
  await stage.publish([{ n: 1 }]);
  await untilProgress(running);
  await untilWell(running);

  await freeze(pid);
  expect(await untilTold(running)).toBeLessThan(promisedMs);
  expect(running.health().failing).toMatchObject([
    {
      what: broker(),
      since: expect.any(Date),
      error: { message: `${broker()} has not answered for 3 s.` },
    },
  ]);
  const [told] = running.health().failing;
  // Beyond two requests that Kafka's client gives up.
  const gaps: number[] = [];
  const from = performance.now();
  await until(() => {
    const ms = performance.now() - from;
    if (!failing(running).includes(broker())) gaps.push(ms);
    return ms > 12_000;
  });
  expect(gaps).toEqual([]);
  expect(running.health().failing).toMatchObject([{ what: broker(), since: told?.since }]);

  process.kill(pid, 'SIGCONT');
  await untilWell(running);
  await stage.publish([{ n: 2 }]);
  await until(async () => (await stage.effects()).length === 2);
});

test.for(['7d', 'forever'] as const)(
  'a consumer that starts with a Kafka that does not answer reports it after three seconds (window %s)',
  { tags: ['silent-broker-shown'] },
  async (window, context) => {
    const stage = await InboxStage.create(1, servers.brokers.join());
    context.onTestFinished(() => stage.end());
    await freeze(pid);
    const orders = consumer(stage.prisma, {
      config: configOf(stage.url, stage.brokers, stage.topic),
      group: 'early',
      window,
      logger: false,
    }).on(stage.topic, async () => undefined);
    const starting = orders.start();
    starting.catch(() => undefined);
    context.onTestFinished(() => orders.stop());

    expect(await untilTold(orders)).toBeLessThan(promisedMs);
    process.kill(pid, 'SIGCONT');
    await starting;
    await untilWell(orders);
  },
);
