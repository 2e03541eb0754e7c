import { expect, test } from 'vitest';
import { statusCommand } from '../../../src/cli/status-command.ts';
import { pause } from '../../../src/operations/delivery/pause.ts';
import { statusOf } from '../../../src/operations/delivery/status.ts';
import { reconcileWorkflows } from '../../../src/relay/reconcile.ts';
import { writeSettings } from '../../../src/store/installation/settings.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';
import { written } from '../../support/fixtures/written.ts';

test('status shows lanes, limits, settings of the last relay, pauses, and the comparison of rows and workflows', async () => {
  const fixture = await ownLane({
    confirm: { group: 'billing', receiptTimeout: '1m' },
    limits: { payloadBytes: 2_048 },
  });
  const { database } = fixture;
  expect(await statusOf(database)).toMatchObject({ settings: [], reconciliation: null });

  await fixture.send('due');
  await fixture.send('later', { afterMs: 60_000 });
  const ofFirst = { name: 'relay.former', value: '5s' };
  await writeSettings(database, [{ name: 'relay.lookInterval', value: '10ms' }, ofFirst]);
  await writeSettings(database, [{ name: 'relay.lookInterval', value: '20ms' }]);
  await pause(database, { topic: fixture.topic }, { actor: 'ada', timeout: 0 });
  await reconcileWorkflows({
    database,
    census: {
      countRunning: async () => 0,
      listRunning: async () => ({ ids: [] }),
      findRunning: async () => new Set(),
      isRunning: async () => false,
      end: async () => false,
    },
    signal: new AbortController().signal,
    progress: () => undefined,
  });

  expect(await statusOf(database)).toMatchObject({
    oldestDueMs: expect.any(Number),
    lanes: [{ topic: 'orders', lane: 0, ready: 1, waiting: 1, paused: true, owned: false }],
    topics: [{ name: 'orders', payloadLimitBytes: 2_048, confirmGroup: 'billing', paused: true }],
    settings: [{ name: 'relay.lookInterval', value: '20ms' }],
    reconciliation: { workflows: 0, ended: 0 },
  });
});

test('status ends with what changes, and shows limits and settings only where they are asked for', async () => {
  const fixture = await ownLane({ limits: { payloadBytes: 2_048 } });
  await writeSettings(fixture.database, [{ name: 'relay.lookInterval', value: '20ms' }]);
  const asked = async (settings?: true) => {
    const flags = { database: fixture.url, ...(settings && { settings }) };
    return (await written((output) => statusCommand(flags, output))).stdout;
  };

  const usual = await asked();
  expect(usual).toMatch(/^TOPIC +LANE /m);
  expect(usual).not.toMatch(/2 KiB|lookInterval/);
  const whole = await asked(true);
  expect(whole).toMatch(/^orders .* 2 KiB /m);
  expect(whole).toMatch(/^relay\.lookInterval +20ms$/m);
});
