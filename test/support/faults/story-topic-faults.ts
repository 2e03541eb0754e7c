import { expect } from 'vitest';
import { z } from 'zod';
import { send, sendBatch, topic, transaction } from '../../../src/index.ts';
import { ada } from '../fixtures/operator.ts';
import type { StoryFault } from './alert-story.ts';
import type { StoryStage } from './story-stage.ts';

/** So few that the flood makes up for them, however fast the machine is: the share of tries that succeed is right again. */
const mostPoison = 400;

/** Messages that the broker refuses for good, again and again, and one that has expired. */
export function poisonForTheBroker({
  client,
  database,
  operator,
  topics: { invoices },
}: StoryStage): StoryFault {
  const filling = 'x'.repeat(10_000);
  const failed = () =>
    database.query<{ id: string }>(
      `select id from outbox.message where topic = 'invoices' and state = 'failed'`,
    );
  const looks = async () => {
    const [row] = await database.query<{ judged: number }>(
      'select judged::float8 as judged from outbox.figures',
    );
    return row?.judged ?? 0;
  };
  return {
    name: 'poison for the broker',
    tells: ['failed topic invoices', 'successRate'],
    outlasting: ['successRate'],
    prometheus: ['OutboxFailed', 'OutboxSuccessRate', 'OutboxMessagesExpired'],
    async begin(again) {
      await transaction(client, (tx) =>
        send(tx, invoices, { n: 0 }, { expires: { at: new Date(Date.now() - 60_000) } }),
      );
      for (let sent = 0; sent < 25 || (again() && sent < mostPoison); sent += 5) {
        const before = await looks();
        const poison = Array.from({ length: 5 }, () => ({ payload: { n: 0, filling } }));
        await transaction(client, (tx) => sendBatch(tx, invoices, poison));
        await expect.poll(async () => (await failed()).length).toBe(sent + 5);
        await expect.poll(looks).toBeGreaterThan(before);
      }
    },
    async end() {
      await operator.discard({ ids: (await failed()).map(({ id }) => id) }, ada);
    },
  };
}

/** A service sends to a topic that no relay has announced, while all others are on time. */
export function unannounced({ client, database }: StoryStage): StoryFault {
  const unknown = topic('unknown', z.object({ n: z.number() }));
  return {
    name: 'a topic is not announced',
    tells: ['unannounced topic unknown'],
    prometheus: ['OutboxUnannounced'],
    async begin() {
      const { id } = await transaction(client, (tx) => send(tx, unknown, { n: 1 }));
      await database.query(
        `update outbox.message set created_at = created_at - interval '2 minutes' where id = $1`,
        [id],
      );
    },
    async end() {
      // A withdrawal takes its lane, whose message then is late for another reason.
      await database.query(`delete from outbox.log where topic = 'unknown'`);
    },
  };
}
