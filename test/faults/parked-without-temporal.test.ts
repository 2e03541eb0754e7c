import { expect, test } from 'vitest';
import { startTemporal } from '../../dev/servers/index.ts';
import { faultRounds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { range } from '../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../support/fixtures/memory-inbox.ts';
import { failing, untilFailing, untilWell } from '../support/fixtures/told-health.ts';
import { until } from '../support/fixtures/until.ts';
import type { FedConsumer } from '../support/processes/fed-consumer.ts';

const outages = faultRounds(2);
/** Of each round: that many keys, with two messages each. */
const keys = 10;

const saw = ({ events }: FedConsumer, type: string): number =>
  events.filter((event) => event.type === type).length;

test('F19 keys are parked and leave parking while Temporal is unreachable, also at a consumer that never reached it', {
  tags: ['parked-tried-without-temporal'],
  timeout: faultTimeoutMs(240_000),
}, async ({ onTestFinished }) => {
  const temporal = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  onTestFinished(() => temporal.stop());
  const { node } = temporal;
  if (node === undefined) throw new Error('This test kills the server, so it has to be one of its own.');
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  const settings = {
    temporalAddress: temporal.address,
    quickRetries: [],
    // Half of what arrives fails at first.
    breaker: false as const,
    retry: [500, 500, 500],
    // The second message of a key is behind the first one.
    before: ({ attempt, payload: { n } }: { attempt: number; payload: { n: number } }) => {
      if (n % 2 === 1 && attempt < 3) throw new Error('the bank is closed');
    },
  };
  let fed = 0;
  /** Parks keys, and waits until they have left parking, in order. */
  const throughParking = async (): Promise<void> => {
    const from = fed + 1;
    fed += 2 * keys;
    inbox.feed(...range(from, fed).map((n) => ({ n, key: `key-${Math.ceil(n / 2)}` })));
    await until(async () => (await inbox.effects()).length === fed, 60_000);
    const effects = await inbox.effects();
    const behind = effects.indexOf.bind(effects);
    expect(new Set(effects).size).toBe(fed);
    for (let n = from; n < fed; n += 2) expect(behind(n)).toBeLessThan(behind(n + 1));
    await until(async () => (await inbox.parkedKeys()) === 0);
  };

  const first = await inbox.consume({ ...settings, name: 'first' });
  await throughParking();
  for (let outage = 1; outage <= outages; outage += 1) {
    await node.stop('SIGKILL');
    await throughParking();
    await untilFailing(first, 'Temporal');
    const late = await inbox.consume({ ...settings, name: `late ${outage}` });
    await until(() => late.health().joined);
    await throughParking();
    expect(saw(first, 'workflows-failing')).toBe(outage);

    await node.start();

    // Nothing is parked any more, so nothing has to be started by which it would show.
    for (const one of [first, late]) await untilWell(one, 60_000);
    expect(saw(first, 'workflows-resumed')).toBe(outage);
    expect(failing(late)).toEqual([]);
    await late.stop();
    await throughParking();
  }
  expect(await inbox.kept()).toEqual([]);
});
