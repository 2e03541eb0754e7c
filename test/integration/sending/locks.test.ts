import { expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { releaseMessages } from '../../../src/store/message/release.ts';
import {
  cancelKey,
  cancelMessage,
  rescheduleMessage,
  storeMessages,
} from '../../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { until } from '../../support/fixtures/until.ts';

const handle = { ref: 'r' };

let fixture: LaneFixture;
eachLane((made) => (fixture = made), { timer: 'lane' });

/** Runs something in a transaction that stays open, which waits for a row until the other transaction ends. */
async function behind<Answer>(
  other: { commit(): Promise<void> },
  service: Sql,
  work: (sql: Sql) => Promise<Answer>,
): Promise<Answer> {
  const answer = work(service);
  await untilLockWaits(fixture.database, 1);
  await other.commit();
  return answer;
}

const replace = async (sql: Sql): Promise<boolean> => {
  const message = { payload: '"new"', key: 'k', ref: 'r', afterMs: 3_600_000, replace: true as const };
  const [stored] = await storeMessages(sql, fixture.topic, [message]);
  return stored?.refusal === null && stored.id !== fixture.idOf('due');
};

test.each<[string, (sql: Sql) => Promise<unknown>, unknown]>([
  ['cancel', (sql) => cancelMessage(sql, 'orders', handle), 'too-late'],
  ['cancel of a key', (sql) => cancelKey(sql, 'orders', 'k'), 1],
  ['reschedule', (sql) => rescheduleMessage(sql, 'orders', handle, { afterMs: 1_000 }), 'too-late'],
  ['replacement', replace, true],
])(
  'a change that comes too late because it waited for a release keeps no lock of the message: %s',
  { tags: ['cancel-holds'] },
  async (_name, work, answer) => {
    const id = await fixture.send('due', { key: 'k', ref: 'r', afterMs: 1 });
    await fixture.send('later', { key: 'k', afterMs: 3_600_000 });
    const release = await fixture.begin();
    await until(async () => (await releaseMessages(release, [id])).answers.get(id)?.kind === 'ready');
    const service = await fixture.begin();

    expect(await behind(release, service, work)).toBe(answer);

    const free = await fixture.database.query(
      'select m.state::text as state from outbox.message m where m.id = $1 for update nowait',
      [id],
    );
    expect(free).toEqual([{ state: 'ready' }]);
    await service.commit();
  },
);

test.each<[string, (sql: Sql) => Promise<unknown>, string]>([
  ['cancel', (sql) => cancelMessage(sql, 'orders', handle), 'canceled'],
  ['reschedule', (sql) => rescheduleMessage(sql, 'orders', handle, { afterMs: 7_200_000 }), 'rescheduled'],
])(
  'a change by ref reaches the message that got the ref in the transaction that it waited for: %s',
  { tags: ['cancel-holds'] },
  async (_name, work, answer) => {
    const first = await fixture.send('first', { ref: 'r', afterMs: 3_600_000 });
    const other = await fixture.begin();
    await cancelMessage(other, 'orders', { id: first });
    const second = await fixture.send('second', { ref: 'r', afterMs: 3_600_000 }, other);
    const service = await fixture.begin();

    expect(await behind(other, service, work)).toBe(answer);
    await service.commit();

    const [row] = await fixture.database.query<{ state: string; late: boolean }>(
      `select state::text, due_at > outbox.clock() + interval '90 minutes' as late from outbox.message where id = $1`,
      [second],
    );
    expect(row).toEqual(
      answer === 'canceled' ? { state: 'canceled', late: false } : { state: 'waiting', late: true },
    );
  },
);
