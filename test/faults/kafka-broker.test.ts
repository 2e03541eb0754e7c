import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalKafka, type LocalNode, startKafka } from '../../dev/servers/index.ts';
import { startFaultProxy } from '../support/faults/fault-proxy.ts';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { kept, repeats } from '../support/fixtures/ledger.ts';
import type { StageRelay } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';
import {
  type Finished,
  type KafkaFaultFixture,
  kafkaFaultFixture,
} from '../support/kafka/kafka-fault-fixture.ts';

/** Messages that one fault may double: those of one batch. */
const batch = 2_000;

let kafka: LocalKafka;
let node: LocalNode;

beforeAll(async () => {
  kafka = await startKafka({ env: { ...process.env, KAFKA_BROKERS: '' } });
  const [first] = kafka.nodes;
  if (first === undefined) throw new Error('This test breaks the broker, so it has to be one of its own.');
  node = first;
});
afterAll(() => kafka.stop());

const count = (relay: StageRelay, type: 'hold-began' | 'hold-ended'): number =>
  relay.events.filter((event) => event.type === type).length;

const isOnHold = (relay: StageRelay): boolean => count(relay, 'hold-began') > count(relay, 'hold-ended');

/** What one fault may cost at most, besides time: a repeat of the batch on the wire. */
function expectKept({ attempts, broken, repeats: repeated, verdict }: Finished, faults: number): void {
  expect(verdict).toEqual(kept);
  expect(broken).toEqual([]);
  expect(repeated).toBeLessThanOrEqual(faults * batch);
  expect(attempts).toBe(0);
}

/** Why the lane is on hold, as people see it; empty when it is not. */
async function reasonOf({ stage, inbox }: KafkaFaultFixture): Promise<string> {
  const [lane] = await stage.database.query<{ reason: string | null }>(
    `select hold ->> 'reason' as reason from outbox.lane where topic = $1`,
    [inbox.topic.name],
  );
  return lane?.reason ?? '';
}

test.for(faultSeeds(12))(
  'I1 I3 I13 F12: a broker killed under load uses up no attempt, and delivery continues within seconds of its return (seed %i)',
  { tags: ['no-loss'], timeout: faultTimeoutMs(400_000) },
  async (seed, context) => {
    const fixture = await kafkaFaultFixture(context, { kafka, seed });
    const relay = await fixture.stage.relay();
    const kills = faultRounds(2);
    for (let kill = 1; kill <= kills; kill += 1) {
      await fixture.untilSettled(100);
      await node.stop('SIGKILL');
      await until(() => isOnHold(relay), 60_000);
      const during = await fixture.settled();
      await delay(2_000);
      expect(await fixture.settled(), 'nothing is acknowledged while the broker is away').toBe(during);
      await node.start();
      // Seconds where nothing else runs; the limit is for a machine that does much else.
      await fixture.untilSettled(100, 90_000);
    }
    expectKept(await fixture.finish(), kills);
  },
);

test.for(faultSeeds(13))(
  'I1 I3 I11 F13: a broker frozen beyond the request timeout loses nothing when it resumes (seed %i)',
  { tags: ['no-loss'], timeout: 400_000 },
  async (seed, context) => {
    const fixture = await kafkaFaultFixture(context, { kafka, seed, requestTimeoutMs: 5_000 });
    const relay = await fixture.stage.relay();
    await fixture.untilSettled(100);
    const pid = node.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    try {
      await until(() => isOnHold(relay), 60_000);
      const during = await fixture.settled();
      await delay(12_000);
      expect(await fixture.settled()).toBe(during);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await fixture.untilSettled(1_000, 120_000);
    expectKept(await fixture.finish(), 1);
  },
);

test.for(faultSeeds(14))(
  'I1 I3 I4 I13 F14: when answers of the broker are lost its lane waits, and no effect occurs twice although messages do (seed %i)',
  { tags: ['effect-once'], timeout: faultTimeoutMs(400_000) },
  async (seed, context) => {
    const proxy = await startFaultProxy(node.address, seed);
    context.onTestFinished(() => proxy.close());
    // Few enough for a consumer that has to handle all of them one by one, on any machine.
    const fixture = await kafkaFaultFixture(context, { kafka, seed, proxy, perSecond: 60 });
    const { inbox, stage } = fixture;
    const relay = await stage.relay();
    await inbox.consume('only');
    const faults = faultRounds(3);
    const repeated = async (): Promise<boolean> => repeats(await fixture.log()) > 0;
    let fault = 0;
    // A fault may meet the relay between two batches, when nothing is on its way; not every time.
    while (fault < faults || (fault < faults + 5 && !(await repeated()))) {
      fault += 1;
      await fixture.untilSettled(100);
      const lost = proxy.fired('drop-replies');
      const holds = count(relay, 'hold-began');
      proxy.inject({ kind: 'drop-replies' });
      await until(() => proxy.fired('drop-replies') > lost && count(relay, 'hold-began') > holds, 60_000);
      await until(async () => (await reasonOf(fixture)) !== '');
      proxy.heal();
      await until(() => !isOnHold(relay), 60_000);
    }
    const finished = await fixture.finish();
    expectKept(finished, fault);

    expect(finished.repeats, 'stored though nobody heard of it').toBeGreaterThan(0);
    await until(async () => {
      const offsets = await inbox.committedOffsets();
      return offsets.reduce((sum, offset) => sum + Math.max(0, offset), 0) >= finished.log.length;
    }, 180_000);
    // Every call of the handler writes a row, so a second effect would be a row more.
    expect(await inbox.effects()).toHaveLength(fixture.load.ledger.count('committed'));
  },
);

test.for(faultSeeds(15))(
  'I1 I3 I13 F15: a broker that swallows everything is on hold with a visible reason within 15 s (seed %i)',
  { timeout: 400_000 },
  async (seed, context) => {
    const proxy = await startFaultProxy(node.address, seed);
    context.onTestFinished(() => proxy.close());
    // The timeout that is usual: what is asked here is how soon the fault is seen.
    const fixture = await kafkaFaultFixture(context, { kafka, seed, proxy, requestTimeoutMs: 5_000 });
    await fixture.stage.relay();
    await fixture.untilSettled(100);
    proxy.inject({ kind: 'blackhole' });
    const blackAt = performance.now();
    await until(async () => (await reasonOf(fixture)) !== '', 60_000);
    // Five of them are the timeout, on any machine; what a busy one adds to the other steps has ten.
    expect(performance.now() - blackAt).toBeLessThan(15_000);
    expect(proxy.fired('blackhole')).toBeGreaterThan(0);
    proxy.heal();
    await fixture.untilSettled(500);
    expectKept(await fixture.finish(), 1);
  },
);
