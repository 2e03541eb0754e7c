import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(fakeTime);
afterEach(realTime);

const take = 'from outbox.take_rate(';
const full = (...positions: readonly number[]) => ({
  messages: positions.map((position) => rowOf(position)),
});

test('a topic without a rate costs no statement, and one with a rate one per batch', {
  tags: ['rate-kept'],
}, async () => {
  const { begin, claims, database, broker } = scriptedDrain();
  database.on(take, [{ granted: 2, waitMs: 0 }]);
  claims.push(full(1, 2), full(3), { ...full(4, 5), share: 2 });
  begin();
  await pass(2_000);

  expect(broker.labels).toEqual(['1', '2', '3', '4', '5']);
  expect(database.valuesOf(take)).toEqual([['orders', 2]]);
});

test('of a topic with a rate a claim reads no more than can be sent soon, and none is made ahead', async () => {
  const { begin, claims, database, parts } = scriptedDrain();
  database.on(take, [{ granted: 1, waitMs: 0 }]);
  claims.push({ ...full(1, 2), share: 1, truncated: true }, { ...full(2), share: 500, truncated: true });
  begin();
  await pass(0);

  expect(database.valuesOf(asked.claim).map(([, , limit]) => limit)).toEqual([2_000, 100, 500]);
  const steps = parts().filter((part) => [asked.claim, take, asked.settle].includes(part));
  expect(steps.slice(0, 6)).toEqual([asked.claim, take, asked.settle, asked.claim, take, asked.settle]);
});

test('expired messages need no rate, and those among live ones are not counted', async () => {
  const { begin, claims, database, broker } = scriptedDrain();
  const over = { expiresAt: new Date(0).toISOString(), expiresBy: -1 };
  database.on(take, [{ granted: 1, waitMs: 0 }]);
  const mixed = [rowOf(3, over), rowOf(4), rowOf(5, over), rowOf(6)];
  claims.push({ messages: [rowOf(1, over), rowOf(2, over)], share: 1 }, { messages: mixed, share: 1 });
  begin();
  await pass(0);

  expect(broker.labels).toEqual(['4']);
  expect(database.valuesOf(take)).toEqual([['orders', 2]]);
});

test('a lane that the rate lets nothing go asks each second, renews its lease, and sends nothing', async () => {
  const { begin, claims, database, broker } = scriptedDrain();
  database.on(take, [{ granted: 0, waitMs: 3_600_000 }]);
  claims.push(...Array.from({ length: 20 }, () => ({ ...full(1), share: 1 })));
  begin();
  await pass(10_500);

  expect(database.valuesOf(take)).toHaveLength(11);
  expect(database.valuesOf(asked.renew).length).toBeGreaterThanOrEqual(2);
  expect(broker.labels).toEqual([]);
  expect(database.valuesOf(asked.settle)).toEqual([]);
});

test('lanes of a process that wait for one rate ask for it by turns, not each of them', {
  tags: ['history-slows-nothing'],
}, async () => {
  const { begin, claims, database, stop } = scriptedDrain();
  let [open, most] = [0, 0];
  database.on(take, async () => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 2));
    open -= 1;
    return [{ granted: 0, waitMs: 100 }];
  });
  const lanes = 20;
  for (let claim = 0; claim < 100 * lanes; claim += 1) claims.push({ ...full(1), share: 1 });
  for (let lane = 0; lane < lanes; lane += 1) begin({ lane: { topic: 'orders', lane } });
  await pass(1_000);
  stop.abort();
  await pass(0);

  expect(most).toBe(1);
  expect(database.valuesOf(take).length).toBeLessThanOrEqual(11);
  expect(database.valuesOf(take).length).toBeGreaterThanOrEqual(5);
});

test('a connection that is lost while the rate is asked costs neither the lane nor a message', async () => {
  const { begin, claims, database, broker } = scriptedDrain();
  const answers: (object | Error)[] = [
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    { granted: 1, waitMs: 0 },
  ];
  database.on(take, () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return [answer ?? {}];
  });
  claims.push({ ...full(1), share: 1 }, { ...full(1), share: 1 });
  begin();
  await pass(1_000);

  expect(broker.labels).toEqual(['1']);
  expect(database.valuesOf(asked.abandon)).toEqual([]);
});

test('a stop ends the wait for the rate at once', async () => {
  const { begin, claims, database, stop } = scriptedDrain();
  database.on(take, [{ granted: 0, waitMs: 3_600_000 }]);
  claims.push({ ...full(1), share: 1 });
  const answer = begin();
  await pass(100);
  stop.abort();
  await pass(0);

  expect(answer.value).toBe('more');
  expect(database.valuesOf(asked.free)).toHaveLength(1);
});
