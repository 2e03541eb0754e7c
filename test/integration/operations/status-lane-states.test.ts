import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { showCommand } from '../../../src/cli/show-command.ts';
import { statusCommand } from '../../../src/cli/status-command.ts';
import { statusOf } from '../../../src/operations/delivery/status.ts';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { writeRelay } from '../../../src/store/installation/relays.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { readStatus } from '../../../src/store/lane/status.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { written } from '../../support/fixtures/written.ts';

let made: LaneFixture;
eachLane((lane) => {
  made = lane;
});

const failed = async (lanes: LaneFixture): Promise<void> => {
  lanes.broker.judge = () => 'permanent';
  await lanes.send('failed', { key: 'F' });
  await lanes.drain();
};

const retrying = async (lanes: LaneFixture): Promise<void> => {
  lanes.broker.judge = () => 'reject';
  await lanes.send('retrying', { key: 'R' });
  await lanes.drain();
};

const blocked = async (lanes: LaneFixture): Promise<void> => {
  await retrying(lanes);
  await lanes.send('blocked', { key: 'R' });
  await lanes.drain();
};

const blockedByFailed = async (lanes: LaneFixture): Promise<void> => {
  await failed(lanes);
  await lanes.send('blocked', { key: 'F' });
  await lanes.drain();
};

const overdue = async (lanes: LaneFixture): Promise<void> => {
  await retrying(lanes);
  await lanes.database.query("update outbox.message set due_at = outbox.clock() - interval '1 minute'");
};

const ready = (lanes: LaneFixture): Promise<string> => lanes.send('ready');
const waiting = (lanes: LaneFixture): Promise<string> => lanes.send('waiting', { afterMs: 3_600_000 });
const published = async (lanes: LaneFixture): Promise<void> => {
  lanes.broker.judge = () => 'store';
  await lanes.send('published');
  await lanes.drain();
};

const age = expect.any(Number);

/** What a lane holds, the age of its oldest due message, and whether a relay has something to do. */
const cases: readonly (readonly [
  string,
  readonly ((lanes: LaneFixture) => Promise<unknown>)[],
  unknown,
  string,
])[] = [
  ['nothing', [], null, 'quiet'],
  ['published messages', [published], null, 'quiet'],
  ['failed messages', [failed], null, 'quiet'],
  ['failed and published messages', [failed, published], null, 'quiet'],
  ['retrying messages that are not due', [retrying], null, 'quiet'],
  ['retrying messages that are due', [overdue], age, 'waits'],
  ['waiting messages', [waiting], null, 'quiet'],
  ['waiting and failed messages', [waiting, failed], null, 'quiet'],
  ['ready messages', [ready], age, 'waits'],
  ['failed and ready messages', [failed, ready], age, 'waits'],
  ['messages behind a retrying one', [blocked], age, 'its blocked messages wait'],
  ['messages behind a failed one', [blockedByFailed], age, 'its blocked messages wait'],
  ['messages behind a failed one, and a ready one', [blockedByFailed, ready], age, 'waits'],
];

test.for(cases)('a lane with %s is shown as such', async ([, steps, oldestDueMs, state]) => {
  const lanes = await made.renewed({ retry: ['1h'], exhausted: 'block-key' });
  for (const step of steps) await step(lanes);

  const hasWork = state === 'waits';
  expect((await statusOf(lanes.database)).lanes).toMatchObject([{ oldestDueMs, hasWork, owned: false }]);
  const { stdout } = await written((output) => statusCommand({ database: lanes.url }, output));
  const row = stdout.split('\n').find((line) => line.startsWith('orders'));
  expect(row).toMatch(hasWork ? /waits: no relay/ : new RegExp(` {2}${state.slice(0, 10)}`));
  if (oldestDueMs === null) expect(row).toMatch(/^orders +0 +- /);

  await acquireLane(lanes.database, lanes.lane, crypto.randomUUID());
  expect((await statusOf(lanes.database)).lanes).toMatchObject([{ owned: true }]);
  const taken = await written((output) => statusCommand({ database: lanes.url }, output));
  expect(taken.stdout.split('\n').find((line) => line.startsWith('orders'))).toMatch(
    hasWork ? / {2}draining$/ : new RegExp(` {2}${state.slice(0, 10)}`),
  );
});

test('a lane on hold whose relays have died waits for a relay, not for its broker', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  const lanes = made;
  const stop = new AbortController();
  lanes.broker.judge = () => 'hold';
  lanes.broker.probe = () => {
    stop.abort();
    return Promise.reject(new Error('away'));
  };
  const id = await lanes.send('held');
  await lanes.drain({
    signal: stop.signal,
    timings: { ...defaultTimings, laneIdleTimeoutMs: 0, probeIntervalMs: 10 },
  });
  const seen = async () => {
    const { stdout } = await written((output) => statusCommand({ database: lanes.url }, output));
    const why = await written((output) => showCommand(id, { database: lanes.url }, output));
    return { status: stdout.split('\n').find((line) => line.startsWith('orders')), show: why.stdout };
  };
  const relay = { id: randomUUID(), host: 'here', pid: 4711, servers: [], lags: [], clockOffsetMs: 0 };

  await writeRelay(lanes.database, relay);
  expect(await seen()).toEqual({
    status: expect.stringContaining('on hold (topic) since'),
    show: expect.stringContaining('Its topic cannot be reached since '),
  });

  await lanes.database.query(`update outbox.relay set seen_at = clock_timestamp() - interval '16 s'`);
  expect(await seen()).toEqual({
    status: expect.stringContaining('waits: no relay runs'),
    show: expect.stringContaining('No relay is running: start one.'),
  });
});

test('a blocked message whose key is free is work for a relay', async () => {
  const lanes = await made.renewed({ retry: ['1h'] });
  await blocked(lanes);
  await lanes.cancel('retrying');

  expect(await lanes.states('retrying', 'blocked')).toEqual(['canceled', 'blocked']);
  expect((await statusOf(lanes.database)).lanes).toMatchObject([{ hasWork: true }]);
});

test('more blocked messages than are counted hide neither the failed one before them nor those that are tried again', {
  tags: ['alerts-told-once'],
}, async () => {
  const lanes = await made.renewed({ exhausted: 'block-key', retry: ['1h'] });
  await failed(lanes);
  for (const label of ['1', '2', '3']) await lanes.send(label, { key: 'F' });
  await lanes.drain();
  await retrying(lanes);
  expect(await readStatus(lanes.database, 2)).toMatchObject([{ failed: 1, blocked: 2, retrying: 1 }]);
});
