import { expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database/pool.ts';
import { cancelMessage, storeMessages } from '../../src/store/message/write.ts';
import { laneFixture } from '../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../support/fixtures/test-relay.ts';
import { until } from '../support/fixtures/until.ts';

const messages = 600;
const keys = 20;

/** The place of each key's messages in the log, by their numbers. */
function ordersOf(labels: readonly string[]): readonly (readonly number[])[] {
  return Array.from({ length: keys }, (_, key) => labels.map(Number).filter((n) => n % keys === key));
}

test('I5 of messages that expire while they are claimed, refused and canceled, each ends once, and the others go in order', {
  tags: ['expired-not-sent'],
}, async () => {
  const fixture = await laneFixture({ timer: 'lane', retry: ['30ms', '60ms', '90ms', '200ms', '1s'] });
  const business = openDatabase({ url: fixture.url, connections: 4 });
  // Every third message fails at first: others of its key are blocked behind it, and expire there.
  const refused = new Map<string, number>();
  fixture.broker.judge = ({ id, payload }) => {
    const count = refused.get(id) ?? 0;
    refused.set(id, count + 1);
    return Number(JSON.parse(payload)) % 3 === 0 && count < 3 ? 'reject' : 'store';
  };
  const relay = await startTestRelay(fixture, { limits: { messages: 10 } });
  try {
    const stored = await storeMessages(
      business,
      fixture.topic,
      Array.from({ length: messages }, (_, n) => ({
        payload: JSON.stringify(n),
        key: `k${n % keys}`,
        ...(n % 2 === 1 && { expiresAfterMs: n }),
      })),
    );
    const answers = new Map<string, string>();
    for (const { id } of stored.filter((_, n) => n % 5 === 1))
      answers.set(id, await cancelMessage(business, fixture.topic, { id }));

    const open = `select from outbox.message_view where state not in ('published', 'canceled', 'expired')`;
    await until(async () => (await business.query(open)).length === 0);

    const rows = await business.query<{ id: string; state: string; early: boolean }>(
      `select id, state::text, state = 'expired' and updated_at < expires_at as early from outbox.message_view`,
    );
    const ended = (state: string) => rows.filter((row) => row.state === state).map(({ id }) => id);
    const sent = fixture.broker.log.map(({ id }) => id);
    expect(rows).toHaveLength(messages);
    expect(sent.toSorted()).toEqual(ended('published').toSorted());
    expect(ended('canceled').toSorted()).toEqual(
      [...answers].flatMap(([id, answer]) => (answer === 'canceled' ? [id] : [])).toSorted(),
    );
    expect(rows.filter(({ early }) => early)).toEqual([]);
    expect(ended('expired').length).toBeGreaterThan(20);
    expect(ended('published').length).toBeGreaterThan(20);
    for (const order of ordersOf(fixture.broker.labels))
      expect(order).toEqual(order.toSorted((a, b) => a - b));

    await until(
      () => relay.events.filter(({ type }) => type === 'expired').length >= ended('expired').length,
    );
    const told = relay.events.flatMap((event) => (event.type === 'expired' ? [event.id] : []));
    expect(told.toSorted()).toEqual(ended('expired').toSorted());
  } finally {
    await relay.stop();
    await business.close();
    await fixture.drop();
  }
});
