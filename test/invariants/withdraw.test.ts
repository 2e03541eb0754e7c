// @module-tag apart
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { storeMessages } from '../../src/store/message/write.ts';
import { laneFixture } from '../support/fixtures/lane-fixture.ts';
import { ada, auditOf, operatorAt } from '../support/fixtures/operator.ts';
import { until } from '../support/fixtures/until.ts';

const messages = 500;
/** Small batches, so that there are many turns. */
const batch = { messages: 8 };

test('I5 of 500 messages withdrawn just before or during their sending, each is canceled and never sent, or too late and sent', {
  tags: ['cancel-holds'],
}, async () => {
  const fixture = await laneFixture();
  const operator = operatorAt(fixture);
  const stored = await storeMessages(
    fixture.database,
    fixture.topic,
    Array.from({ length: messages }, (_, n) => ({ payload: JSON.stringify(n), key: `k${n % 20}` })),
  );
  const ids = stored.map(({ id }) => id);
  const answers = new Map<string, string>();
  const asked = new Set<string>();

  /** The messages that the relay has in hand, or takes next; what it has left behind comes last. */
  const nextOnes = (): readonly string[] => {
    const front = ids.indexOf(fixture.broker.batches.at(-1)?.[0] ?? '');
    const ahead = ids.slice(Math.max(0, front)).filter((id) => !asked.has(id));
    const chosen = (ahead.length > 0 ? ahead : ids.filter((id) => !asked.has(id))).slice(2, 6);
    return chosen.length > 0 ? chosen : ids.filter((id) => !asked.has(id)).slice(0, 4);
  };
  // Turns are made: a batch in hand lets the operators ask, and stays in hand until one of them requests the lane.
  const waiting: (() => void)[] = [];
  let asking = 0;
  const letAsk = async (): Promise<void> => {
    for (const proceed of waiting.splice(0)) proceed();
    await turn();
  };
  const nothingIsLeft = async (): Promise<boolean> => {
    const open = `select from outbox.message_view where state not in ('published', 'canceled') limit 1`;
    return (await fixture.database.query(open)).length === 0;
  };
  const isPaused = async (): Promise<boolean> =>
    (await fixture.database.query('select from outbox.topic where paused')).length > 0;
  fixture.broker.before = async () => {
    await letAsk();
    await until(async () => asking === 0 || (await isPaused()));
  };
  const operate = async (): Promise<void> => {
    for (let next = nextOnes(); next.length > 0; next = nextOnes()) {
      for (const id of next) asked.add(id);
      asking += 1;
      const withdrawn = await operator.withdraw({ ids: next }, { ...ada, timeout: 60_000 }).finally(() => {
        asking -= 1;
      });
      for (const { id, result } of withdrawn) answers.set(id, result);
      await new Promise<void>((proceed) => waiting.push(proceed));
    }
  };
  const operated = new AbortController();
  const relay = async (): Promise<void> => {
    // A relay that is paused asks again; what is left is delivered at the end.
    while (!operated.signal.aborted) {
      await fixture.drain({ batch });
      if (await nothingIsLeft()) await letAsk();
      await delay(5);
    }
    await fixture.drain();
  };
  try {
    const relays = Promise.all([relay(), relay()]);
    await Promise.all([operate(), operate(), operate()]).finally(() => operated.abort());
    await relays;

    const published = new Set(fixture.broker.log.map(({ id }) => id));
    const idsOf = (result: string): readonly string[] => ids.filter((id) => answers.get(id) === result);
    expect(idsOf('canceled').length + idsOf('too-late').length).toBe(messages);
    expect(idsOf('canceled').filter((id) => published.has(id))).toEqual([]);
    expect(idsOf('too-late').filter((id) => !published.has(id))).toEqual([]);
    expect(fixture.broker.log.length, 'no repeats').toBe(published.size);
    // Both sides of the race must have happened, and operators must have had to stop the relay, or this proves nothing.
    expect(idsOf('canceled').length).toBeGreaterThan(20);
    expect(idsOf('too-late').length).toBeGreaterThan(20);
    const audit = await auditOf(fixture);
    expect(audit.filter(({ action }) => action === 'withdraw')).toHaveLength(messages);
    expect(audit.filter(({ action }) => action === 'pause').length).toBeGreaterThan(10);
    const [topic] = (await operator.status()).topics;
    expect(topic?.paused, 'nobody is left paused').toBe(false);
  } finally {
    operated.abort();
    await operator.close();
    await fixture.drop();
  }
});
