// @module-tag expired-not-sent
import { expect, test } from 'vitest';
import { Wake } from '../../../src/core/wake.ts';
import { changeMessages } from '../../../src/operations/change.ts';
import { cancelChange, retryChange } from '../../../src/store/message/change.ts';
import { confirmMessages, prolongParked } from '../../../src/store/message/confirm.ts';
import { giveUp, resend } from '../../../src/store/message/confirm-overdue.ts';
import { expireBlocked } from '../../../src/store/message/expire.ts';
import { verifyStates } from '../../../src/store/verify/states.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made), { retry: ['1h'] });

const operator = { actor: 'test', reason: 'as told' };

/** Lets a message expire now; it must not be due later. */
async function pass(...labels: readonly string[]): Promise<void> {
  await fixture.database.query(
    `update only outbox.message set expires_at = outbox.clock() - interval '1 ms', due_at = least(due_at, outbox.clock() - interval '1 ms')
     where id = any($1::uuid[])`,
    [labels.map((label) => fixture.idOf(label))],
  );
}

const expired = () => fixture.events.filter(({ type }) => type === 'expired');

test('a message whose expiry has passed at the claim is not sent, and the later ones of its key are', async () => {
  await fixture.send('A', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.send('B', { key: 'K', expiresAfterMs: 0 });
  await fixture.send('C', { key: 'K' });
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A', 'C']);
  expect(await fixture.states('A', 'B', 'C')).toEqual(['published', 'expired', 'published']);
  expect(expired()).toEqual([
    { type: 'expired', id: fixture.idOf('B'), topic: 'orders', lane: 0, key: 'K', maybePublished: false },
  ]);
});

test('a message that expires while its batch is claimed ahead is not sent', async () => {
  const wake = new Wake();
  await fixture.send('A');
  await fixture.send('B', { expiresAfterMs: 800 });
  const claimedAhead: string[] = [];
  fixture.broker.judge = (message) => {
    claimedAhead.push(labelOf(message));
    return 'store';
  };
  fixture.broker.after = async () => {
    // The relay measures from the answer of the claim, which a busy machine reads late.
    await until(async () => {
      const [row] = await fixture.database.query<{ over: boolean }>(
        `select expires_at + interval '1 second' < clock_timestamp() as over from outbox.message where id = $1`,
        [fixture.idOf('B')],
      );
      return row?.over === true;
    });
  };
  await fixture.drain({ wake, batch: { messages: 1 } });

  expect(claimedAhead).toEqual(['A']);
  expect(await fixture.states('A', 'B')).toEqual(['published', 'expired']);
});

test('a retrying message is due at its expiry at the latest, and ends there; its key goes on', async () => {
  await fixture.send('A', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.send('B', { key: 'K' });
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();
  expect(await fixture.states('A', 'B')).toEqual(['retrying', 'blocked']);
  const [row] = await fixture.database.query<{ same: boolean }>(
    'select due_at = expires_at as same from outbox.message where id = $1',
    [fixture.idOf('A')],
  );
  expect(row?.same).toBe(true);

  await pass('A');
  await fixture.release('A');
  await fixture.drain();

  expect(await fixture.states('A', 'B')).toEqual(['expired', 'published']);
  expect(fixture.broker.labels).toEqual(['B']);
});

test('a message of a lane with a timer is released at its expiry without a workflow', async () => {
  fixture = await fixture.renewed({ retry: ['1h'], timer: 'lane' });
  await fixture.send('A', { expiresAfterMs: 500 });
  fixture.broker.judge = () => 'reject';
  const relay = await startTestRelay(fixture);
  try {
    await expect.poll(() => fixture.states('A'), { timeout: 10_000 }).toEqual(['expired']);
  } finally {
    await relay.stop();
  }
  expect(relay.workflows.messageStarts).toEqual([]);
});

/** True if its next try is in more than 50 minutes. */
async function restsLong(label: string): Promise<boolean> {
  const rows = await fixture.database.query(
    `select from only outbox.message where id = $1 and due_at > outbox.clock() + interval '50 minutes'`,
    [fixture.idOf(label)],
  );
  return rows.length === 1;
}

test('a message that was published, and is sent again for its receipt, does not expire', async () => {
  fixture = await fixture.renewed({ confirm: { group: 'g', receiptTimeout: '1h' } });
  await fixture.send('A', { expiresAfterMs: 60_000 });
  await fixture.drain();
  await pass('A');
  expect(await resend(fixture.database, [fixture.idOf('A')], [])).toBe(1);
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A', 'A']);
  expect(await fixture.states('A')).toEqual(['published']);
  expect(fixture.broker.log.map(({ headers }) => typeof headers['ce_expirytime'])).toEqual([
    'string',
    'string',
  ]);
});

test('a message that is sent again after its expiry keeps the pauses between its tries, and is not ended behind another', async () => {
  fixture = await fixture.renewed({ retry: ['1h'], confirm: { group: 'g', receiptTimeout: '1h' } });
  await fixture.send('A', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.send('B', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.drain();
  await pass('A', 'B');
  expect(await resend(fixture.database, [fixture.idOf('A'), fixture.idOf('B')], [])).toBe(2);
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();

  expect(await fixture.states('A', 'B')).toEqual(['retrying', 'blocked']);
  expect(await restsLong('A')).toBe(true);
  expect(await expireBlocked(fixture.database, 10)).toEqual([]);
});

test('a message that its consumer has parked does not expire when it is sent again, refused or behind another one', async () => {
  fixture = await fixture.renewed({
    retry: ['1h'],
    confirm: { group: 'g', receiptTimeout: '1h', maxSends: 1 },
  });
  await fixture.send('A', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.send('B', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.drain();
  const ids = ['A', 'B'].map((label) => fixture.idOf(label));
  await prolongParked(fixture.database, 'g', ids);
  await pass('A', 'B');
  expect(await resend(fixture.database, ids, [])).toBe(2);
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();

  expect(await fixture.states('A', 'B')).toEqual(['retrying', 'blocked']);
  expect(await restsLong('A')).toBe(true);
  expect(await expireBlocked(fixture.database, 10)).toEqual([]);
  expect(await verifyStates(fixture.database)).toMatchObject({ violations: 0 });

  fixture.broker.judge = () => 'store';
  await fixture.release('A');
  await fixture.drain();
  expect(await fixture.states('A', 'B')).toEqual(['published', 'published']);
  expect(fixture.broker.labels).toEqual(['A', 'B', 'A', 'B']);
  expect(expired()).toEqual([]);
});

test('an operator may retry what was published and given up, also after its expiry, and it is sent', async () => {
  fixture = await fixture.renewed({ retry: ['1h'], confirm: { group: 'g', receiptTimeout: '1h' } });
  for (const label of ['A', 'B']) await fixture.send(label, { expiresAfterMs: 60_000 });
  await fixture.drain();
  const ids = ['A', 'B'].map((label) => fixture.idOf(label));
  await giveUp(fixture.database, [fixture.idOf('A')], 'g');
  await resend(fixture.database, [fixture.idOf('B')], []);
  fixture.broker.judge = () => 'reject';
  await fixture.drain();
  await pass('A', 'B');
  expect(await fixture.states('A', 'B')).toEqual(['failed', 'retrying']);

  const retried = await changeMessages(fixture.database, { ids }, retryChange, operator);
  expect(retried.map(({ result }) => result)).toEqual(['retried', 'retried']);
  fixture.broker.judge = () => 'store';
  await fixture.drain();

  expect(await fixture.states('A', 'B')).toEqual(['published', 'published']);
  expect(fixture.broker.labels).toEqual(['A', 'B', 'A', 'B']);
  expect(expired()).toEqual([]);
  expect(await fixture.database.query('select sends from only outbox.message order by position')).toEqual([
    { sends: 1 },
    { sends: 2 },
  ]);
});

test('a blocked message ends at its expiry while what it is behind still blocks the key', async () => {
  await fixture.send('A', { key: 'K' });
  await fixture.send('B', { key: 'K', expiresAfterMs: 60_000 });
  await fixture.send('C', { key: 'K', expiresAfterMs: 3_600_000 });
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();
  expect(await fixture.states('A', 'B', 'C')).toEqual(['retrying', 'blocked', 'blocked']);

  await pass('B');
  const relay = await startTestRelay(fixture);
  try {
    await expect.poll(() => fixture.states('A', 'B', 'C')).toEqual(['retrying', 'expired', 'blocked']);
    await until(() => relay.events.some(({ type }) => type === 'expired'));
    fixture.broker.judge = () => 'store';
    await changeMessages(fixture.database, { ids: [fixture.idOf('A')] }, retryChange, operator);
    await expect.poll(() => fixture.states('A', 'B', 'C')).toEqual(['published', 'expired', 'published']);
  } finally {
    await relay.stop();
  }
  expect(fixture.broker.labels).toEqual(['A', 'C']);
});

test('a hold of the broker spends nothing, and what expires during it is not sent', async () => {
  await fixture.send('A', { expiresAfterMs: 60_000 });
  await fixture.send('B');
  let held = false;
  fixture.broker.judge = () => (held ? 'store' : 'hold');
  fixture.broker.after = async () => {
    if (held) return;
    held = true;
    await pass('A');
  };
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['B']);
  expect(await fixture.states('A', 'B')).toEqual(['expired', 'published']);
  expect((await fixture.row('B')).attempts).toBe(0);
});

test('an expired message that a broker may have says so, and a receipt still confirms it', async () => {
  fixture = await fixture.renewed({ retry: ['1h'], confirm: { group: 'g', receiptTimeout: '1h' } });
  await fixture.send('A', { expiresAfterMs: 60_000 });
  fixture.broker.judge = () => 'lose';
  await fixture.drain();
  await pass('A');
  await fixture.release('A');
  await fixture.drain();

  expect(await fixture.row('A')).toMatchObject({ state: 'expired', maybePublished: true });
  expect(expired()).toMatchObject([{ id: fixture.idOf('A'), maybePublished: true }]);
  await confirmMessages(fixture.database, 'g', [fixture.idOf('A')]);
  expect(await fixture.states('A')).toEqual(['confirmed']);
});

test('a retry of an expired message is too late, and one of a failed message past its expiry is refused as expired', async () => {
  for (const label of ['A', 'B', 'C'])
    await fixture.send(label, { expiresAfterMs: label === 'A' ? 0 : 60_000 });
  fixture.broker.judge = () => 'permanent';
  await fixture.drain();
  await pass('B');
  expect(await fixture.states('A', 'B', 'C')).toEqual(['expired', 'failed', 'failed']);

  const ids = ['A', 'B', 'C'].map((label) => fixture.idOf(label));
  const retried = await changeMessages(fixture.database, { ids }, retryChange, operator);
  const canceled = await changeMessages(fixture.database, { ids: ids.slice(0, 1) }, cancelChange, operator);

  expect(retried.map(({ result }) => result)).toEqual(['too-late', 'expired', 'retried']);
  expect(canceled.map(({ result }) => result)).toEqual(['too-late']);
});

test('the key of an expired message is not told for a topic that does not show keys', async () => {
  fixture = await fixture.renewed({ visible: false });
  await fixture.send('A', { key: 'secret', expiresAfterMs: 0 });
  await fixture.drain();

  expect(expired()).toMatchObject([{ id: fixture.idOf('A'), key: null }]);
});
