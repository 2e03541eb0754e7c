import { expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { look } from '../../../src/store/lane/watch.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

/** From some look on, all that begin at its snapshot or before it take too long, as behind millions of new messages. */
class TooMuchNews {
  failed = 0;
  #begun = false;
  #until: bigint | undefined;

  begin(): void {
    this.#begun = true;
  }

  through(database: Database): Database {
    return {
      ...database,
      query: async (text, values, repeated) => {
        const from = text.includes('outbox.look(') ? values?.[0] : undefined;
        if (this.#begun && typeof from === 'string') {
          const xmax = BigInt(from.split(':')[1] ?? '0');
          this.#until ??= xmax;
          if (xmax <= this.#until) {
            this.failed += 1;
            throw new Error('Query read timeout');
          }
        }
        return database.query(text, values, repeated);
      },
    };
  }
}

test('a relay with one look that takes too long still sends, releases and starts', {}, async (context) => {
  const fixture = await laneFixture();
  context.onTestFinished(() => fixture.drop());
  const news = new TooMuchNews();
  const relay = await startTestRelay(fixture, {
    database: news.through(fixture.database),
    timings: { laneIdleTimeoutMs: 60_000 },
  });
  context.onTestFinished(() => relay.stop());
  await fixture.send('before');
  await until(() => fixture.broker.labels.includes('before'));

  news.begin();
  await until(() => news.failed > 0);
  await fixture.send('waiting', { afterMs: 300 });
  await fixture.send('tomorrow', { afterMs: 86_000_000 });
  await fixture.send('after');

  const told = () => relay.workflows.messageStarts.some(({ id }) => id === fixture.idOf('tomorrow'));
  const done = () => ['after', 'waiting'].every((label) => fixture.broker.labels.includes(label)) && told();
  // A relay that looks from the same place again and again never gets there.
  await until(() => done() || news.failed > 5, 60_000);
  expect(news.failed).toBe(1);
  expect(relay.events).toContainEqual(expect.objectContaining({ type: 'error', during: 'look' }));
});

test('a look names the transactions of few new messages, and none of many', async (context) => {
  const fixture = await laneFixture({ lanes: 2 });
  context.onTestFinished(() => fixture.drop());
  const { database } = fixture;
  const { snapshot } = await look(database, null);
  for (const label of ['A', 'B']) await fixture.send(label, { key: 'k' });
  const [few] = (await look(database, snapshot)).news;
  expect(few?.xids?.split(',')).toHaveLength(2);

  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', n % 2, '1', 'ready', 'w' from generate_series(1, 3000) n where n % 30 = 0 or n % 2 = 0`,
  );
  const { news } = await look(database, snapshot);
  expect(news.map(({ ready, xids }) => ({ ready, xids }))).toEqual([
    { ready: true, xids: null },
    { ready: true, xids: null },
  ]);
});
