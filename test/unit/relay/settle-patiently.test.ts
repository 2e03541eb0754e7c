import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneLease } from '../../../src/relay/lane-lease.ts';
import { settlePatiently } from '../../../src/relay/settle-patiently.ts';
import { drainStage } from '../../support/fixtures/drain-stage.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { refusedBy } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const settle = 'select outbox.pass(';
const hold = 'update outbox.lane l set hold';
const renew = 'update outbox.lane l set alive_until';

function settling(deadlineMs = 60_000) {
  const stage = drainStage();
  stage.database.on(hold, []).on(renew, [{ ctid: '(0,1)' }]);
  const lease = new LaneLease(stage.input);
  const settlement = {
    owner: lease.owner,
    cursor: '9',
    snapshot: '9:9:',
    changes: [],
    claimSnapshot: '9:9:',
    durable: true,
  };
  const begin = () => {
    lease.prolonged(performance.now());
    const limits = { deadline: performance.now() + deadlineMs, stop: stage.stop.signal };
    return soFar(settlePatiently(stage.input, lease, settlement, limits));
  };
  return { ...stage, lease, begin, holds: () => stage.database.valuesOf(hold).map((values) => values[3]) };
}

test('a settle returns whether the lane was still owned, and shows no hold if it succeeds at once', async () => {
  for (const [ctid, ours] of [
    ['(0,5)', true],
    [null, false],
  ] as const) {
    const { database, begin, holds } = settling();
    database.on(settle, [{ ctid }]);
    const answer = begin();
    await pass(0);
    expect(answer).toEqual({ state: 'resolved', value: ours });
    expect(holds()).toEqual([]);
  }
});

test('while the database is unreachable a settle is tried ten times a second, for half a lease, despite a stop', async () => {
  const { database, events, stop, begin, holds } = settling(0);
  const away = refusedBy('08006');
  database.refuse(settle, away);
  const answer = begin();
  stop.abort();
  await pass(450);
  expect(database.valuesOf(settle)).toHaveLength(5);
  await pass(4_550);
  expect(answer.state).toBe('open');
  await pass(150);
  expect(answer).toEqual({ state: 'rejected', error: away });
  expect(events).toHaveLength(database.asked.length);
  expect(events[0]).toEqual({ type: 'error', during: 'settle', error: away });
  expect(holds()).toEqual([]);
});

test('a settle that follows an outage is done once', async () => {
  const { database, begin, holds } = settling();
  let tries = 0;
  database.on(settle, () => (++tries > 3 ? [{ ctid: '(0,5)' }] : Promise.reject(refusedBy('57P01'))));
  const answer = begin();
  await pass(299);
  expect(answer.state).toBe('open');
  await pass(1);
  expect(answer).toEqual({ state: 'resolved', value: true });
  await pass(1_000);
  expect(tries).toBe(4);
  expect(holds()).toEqual([]);
});

test('a settle that the database refuses is shown as a hold until it succeeds', async () => {
  const { database, events, made, begin, lease, holds } = settling();
  database.refuse(settle, refusedBy('23505', 'a duplicate'));
  const answer = begin();
  await pass(3_500);
  expect(database.valuesOf(settle)).toHaveLength(4);
  const shown = JSON.stringify({ scope: 'settle', reason: 'a duplicate' });
  expect(holds()).toEqual([shown, shown, shown, shown]);
  expect(database.valuesOf(hold)[0]).toEqual(['orders', 3, lease.owner, shown]);
  expect(made.progress).toBe(3);
  expect(database.valuesOf(renew)).toHaveLength(1);
  expect(events).toHaveLength(4);

  database.on(settle, [{ ctid: '(0,5)' }]);
  await pass(500);
  expect(answer).toEqual({ state: 'resolved', value: true });
  expect(holds().slice(4)).toEqual([null]);
});

test('a settle that the database refuses is given up when the drain must stop or its run is over', async () => {
  for (const ending of ['stop', 'deadline'] as const) {
    const { database, stop, begin } = settling(ending === 'stop' ? 60_000 : 2_500);
    database.refuse(settle, refusedBy('23505', 'a duplicate'));
    const answer = begin();
    await pass(2_100);
    expect(answer.state).toBe('open');
    if (ending === 'stop') stop.abort();
    else await pass(900);
    await pass(0);
    expect(answer).toMatchObject({ state: 'rejected', error: { message: 'a duplicate' } });
  }
});
