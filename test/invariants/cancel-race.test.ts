import { expect, test } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { cancelMessage, storeMessages } from '../../src/store/message/write.ts';
import { Aim } from '../support/fixtures/aim.ts';
import { type LaneFixture, laneFixture } from '../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../support/fixtures/test-relay.ts';
import { until } from '../support/fixtures/until.ts';

const messages = 500;
const connections = 8;
/** A race is one when each side has won so often. */
const least = 20;
/** One is enough, unless the machine stalls for seconds. */
const maxRounds = 10;
/** A workflow may be late by the grace of the sweep, so cancels continue for that time. Where lanes wait: cancel-race-at-scale.test.ts. */
const latestMs = 250;

/** Stores messages that become due one by one, and cancels each around its due time, until `latestMs` after it. */
async function race(fixture: LaneFixture, business: Database, aim: Aim) {
  // Due within one second, 1.5 s from now, so that all are stored before the first is due.
  const dueInMs = Array.from({ length: messages }, (_, n) => 1_500 + n * 2);
  const stored = await storeMessages(
    business,
    fixture.topic,
    dueInMs.map((afterMs, n) => ({ payload: JSON.stringify(n), key: `k${n % 20}`, afterMs })),
  );
  // From 50 ms before the due time on, spread by a step that shares no factor with the width.
  const cancels = stored.map(({ id, dueAt }, n) => ({
    id,
    atMs: (dueAt?.getTime() ?? 0) - 50 + ((n * 37) % (latestMs + 51)),
  }));
  const answers: { readonly id: string; readonly answer: string }[] = [];
  await aim.shootAll(cancels, connections, async ({ id }) => {
    const answer = await cancelMessage(business, fixture.topic, { id });
    answers.push({ id, answer });
    return answer === 'canceled' ? 'too-early' : 'too-late';
  });
  return answers;
}

test('I5 of 500 messages canceled at their due times, each is either canceled or published', {
  tags: ['cancel-holds'],
}, async () => {
  const fixture = await laneFixture({ timer: 'workflow' });
  const business = openDatabase({ url: fixture.url, connections });
  const relay = await startTestRelay(fixture);
  try {
    const aim = new Aim(1);
    const answers: { readonly id: string; readonly answer: string }[] = [];
    const answered = (answer: string): readonly string[] =>
      answers.filter((each) => each.answer === answer).map(({ id }) => id);
    const decided = (): boolean => answered('canceled').length > least && answered('too-late').length > least;
    let rounds = 0;
    for (; rounds < maxRounds && !decided(); rounds += 1)
      answers.push(...(await race(fixture, business, aim)));
    const open = `select from outbox.message_view where state not in ('published', 'canceled')`;
    await until(async () => (await fixture.database.query(open)).length === 0);

    const published = new Set(fixture.broker.log.map(({ id }) => id));
    const canceled = answered('canceled');
    const tooLate = answered('too-late');
    expect(canceled.length + tooLate.length).toBe(rounds * messages);
    expect(canceled.filter((id) => published.has(id))).toEqual([]);
    expect(tooLate.filter((id) => !published.has(id))).toEqual([]);
    expect(fixture.broker.log.length, 'no repeats').toBe(published.size);
    // Both sides of the race must have happened, or the test proves nothing.
    expect(canceled.length).toBeGreaterThan(least);
    expect(tooLate.length).toBeGreaterThan(least);
  } finally {
    await relay.stop();
    await business.close();
    await fixture.drop();
  }
});
