import { expect, test } from 'vitest';
import { changeMessages } from '../../../src/operations/change.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { retryChange } from '../../../src/store/message/change.ts';
import { resend } from '../../../src/store/message/confirm-overdue.ts';
import { afterCommits } from '../../support/faults/after-commits.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** A database that commits the first settle with an exception and loses its answer; this happens before it is repeated. */
function losingOneSettle(meanwhile: () => Promise<void>): Database {
  let lost = false;
  return afterCommits(fixture.database, async (texts) => {
    if (lost || !texts.some((text) => text.includes('changed as ('))) return;
    lost = true;
    await meanwhile();
    throw new Error('The connection ended before the answer to the commit.');
  });
}

const triesOf = (label: string) =>
  fixture.database.query('select outcome from outbox.attempt where message_id = $1 order by id', [
    fixture.idOf(label),
  ]);

/** Its first try fails so; what it sends later is stored. */
function failOnce(kind: 'reject' | 'permanent'): void {
  let failed = false;
  fixture.broker.judge = () => {
    if (failed) return 'store';
    failed = true;
    return kind;
  };
}

test.each([
  ['of the log', {}],
  ['beside the log', { expiresAfterMs: 3_600_000 }],
])(
  'a repeated settle counts no second try of a message %s that is due again',
  { tags: ['retry-delays-apply-everywhere'] },
  async (_where, options) => {
    fixture = await fixture.renewed({ retry: ['1h', '1h'] });
    await fixture.send('A', options);
    failOnce('reject');
    await fixture.drain({ database: losingOneSettle(async () => void (await fixture.release('A'))) });

    expect(await fixture.row('A')).toMatchObject({ state: 'published', attempts: 1 });
    expect(fixture.broker.labels).toEqual(['A']);
    expect(await triesOf('A')).toEqual([{ outcome: 'rejected' }, { outcome: 'acknowledged' }]);
  },
);

test('a repeated settle does not take back the retry of a failed message by an operator', {
  tags: ['retry-delays-apply-everywhere'],
}, async () => {
  await fixture.send('A');
  failOnce('permanent');
  const retry = async () => {
    const ids = [fixture.idOf('A')];
    await changeMessages(fixture.database, { ids }, retryChange, { actor: 'test', reason: 'as told' });
  };
  await fixture.drain({ database: losingOneSettle(retry) });

  expect(await fixture.row('A')).toMatchObject({ state: 'published', attempts: 0 });
  expect(await triesOf('A')).toEqual([{ outcome: 'permanent' }]);
});

test('a repeated settle does not count as the resend that a missing receipt asked for', async () => {
  fixture = await fixture.renewed({ confirm: { group: 'g', receiptTimeout: '1h' } });
  await fixture.send('A');
  await fixture.drain({
    database: losingOneSettle(async () => void (await resend(fixture.database, [fixture.idOf('A')], []))),
  });

  expect(fixture.broker.labels).toEqual(['A', 'A']);
  expect(await fixture.database.query('select state::text, sends from outbox.message')).toEqual([
    { state: 'published', sends: 2 },
  ]);
});

/** A database that executes the first settle once more after the second one, as if the network had kept a copy of it. */
function repeatingLate(): Database {
  const settles: (readonly unknown[] | undefined)[] = [];
  return {
    ...fixture.database,
    async query(text, values) {
      const rows = await fixture.database.query(text, values);
      if (text.includes('outbox.pass(') && settles.push(values) === 2)
        await fixture.database.query(text, settles[0]);
      return rows as never;
    },
  };
}

test.each([true, false])(
  'a copy of a settle that arrives after the next one takes nothing back; what is passed was committed late: %s',
  { tags: ['cancel-holds'] },
  async (late) => {
    const open = await fixture.begin();
    if (late) await fixture.send('B', {}, open);
    await fixture.send('A');
    let begun = false;
    fixture.broker.before = async () => {
      if (begun) return;
      begun = true;
      if (!late) await fixture.send('B');
      await open.commit();
    };
    await fixture.drain({ database: repeatingLate() });

    expect(fixture.broker.labels).toEqual(['A', 'B']);
    expect(await fixture.states('A', 'B')).toEqual(['published', 'published']);
  },
);
