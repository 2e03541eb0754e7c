import { expect, test } from 'vitest';
import { pause } from '../../../src/operations/pause.ts';
import { statusOf } from '../../../src/operations/status.ts';
import { reconcileWorkflows } from '../../../src/relay/reconcile.ts';
import { writeSettings } from '../../../src/store/installation/settings.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';

test('status shows lanes, limits, settings of the last relay, pauses, and the comparison of rows and workflows', async ({
  onTestFinished,
}) => {
  const fixture = await laneFixture({
    confirm: { group: 'billing', receiptTimeout: '1m' },
    limits: { payloadBytes: 2_048 },
  });
  onTestFinished(() => fixture.drop());
  const { database } = fixture;
  expect(await statusOf(database)).toMatchObject({ settings: [], reconciliation: null });

  await fixture.send('due');
  await fixture.send('later', { afterMs: 60_000 });
  await writeSettings(database, [{ name: 'relay.drainTimeout', value: '1m' }]);
  await writeSettings(database, [{ name: 'relay.drainTimeout', value: '30s' }]);
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
    settings: [{ name: 'relay.drainTimeout', value: '30s' }],
    reconciliation: { workflows: 0, ended: 0 },
  });
});
