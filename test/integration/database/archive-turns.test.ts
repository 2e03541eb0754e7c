import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveRetention } from '../../../src/core/retention.ts';
import { createMaintenance } from '../../../src/relay/maintenance.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { RetentionOutcome } from '../../../src/store/retention/retention.ts';
import { Progress } from '../../../src/store/retention/turns.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

/** A lane that has passed so many messages long ago. Topics are archived in the order of their names. */
async function passed(topic: string, count: number): Promise<void> {
  const { database } = at.fixture;
  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, updated_at)
     select gen_random_uuid(), $1, 0, '{}', 'ready', 'w', now() - interval '2 days' from generate_series(1, $2::integer)`,
    [topic, count],
  );
  await database.query(
    `insert into outbox.lane (topic, n, cursor, snapshot) select $1, 0, max(position), pg_current_snapshot() from outbox.message
     on conflict (topic, n) do update set cursor = excluded.cursor, snapshot = excluded.snapshot`,
    [topic],
  );
}

async function left(topic: string): Promise<number> {
  const [row] = await at.fixture.database.query<{ count: number }>(
    'select count(*)::integer as count from outbox.message where topic = $1',
    [topic],
  );
  return row?.count ?? Number.NaN;
}

/** A round of one message a page that has time for so many pages. */
async function round(pages: number, from?: Progress): Promise<RetentionOutcome> {
  const over = new AbortController();
  let done = 0;
  return at.archive(
    {},
    {
      pageRows: 1,
      signal: over.signal,
      progress: () => {
        done += 1;
        if (done >= pages) over.abort();
      },
      ...(from !== undefined && { from }),
    },
  );
}

test('a lane with more than one round can move delays neither other lanes nor ended messages and attempts', async () => {
  await passed('a', 200);
  await passed('z', 3);
  await at.fixture.send('canceled', { afterMs: 60_000 });
  await at.fixture.cancel('canceled');
  await at.fixture.database.query(`update outbox.message set updated_at = now() - interval '2 days'`);
  await at.fixture.database.query(
    `insert into outbox.attempt (message_id, at, outcome) values (gen_random_uuid(), now() - interval '1 year', 'rejected')`,
  );

  // Fewer pages than the first lane has messages; a few are taken by what keeps processed ids.
  expect(await round(60)).toMatchObject({ complete: false, deleted: { attempts: 1 } });

  expect(await left('a')).toBeGreaterThan(0);
  expect(await left('z')).toBe(0);
  expect(await at.whereabouts('canceled')).toEqual(['archived canceled']);
});

test('a round continues where the last one ended, past messages that have to stay', async () => {
  await passed('a', 25);
  await at.fixture.database.query(
    `update outbox.message set updated_at = now() where position < (select max(position) from outbox.message)`,
  );
  const from = new Progress();

  for (let rounds = 0; rounds < 3; rounds += 1) await round(1_000, from);

  expect(await left('a')).toBe(24);
  // It has come to the end, and begins again.
  await at.fixture.database.query(`update outbox.message set updated_at = now() - interval '2 days'`);
  await round(1_000, from);
  expect(await left('a')).toBe(0);
});

test('a relay reports a round that ran out of time, but not one that was stopped or is complete', async () => {
  await passed('a', 3);
  const events: RelayEvent[] = [];
  const archive = async (
    archiveWithinMs: number,
    signal = new AbortController().signal,
  ): Promise<unknown> => {
    const unused = (): never => {
      throw new Error('unused');
    };
    const maintenance = createMaintenance({
      database: at.fixture.database,
      census: { list: unused, open: unused } as never,
      askPlace: unused,
      repeater: { nextTimes: unused, follow: unused, drop: unused },
      retention: resolveRetention(),
      tellingOf: [],
      report: (event) => events.push(event),
      archiveWithinMs,
    });
    return maintenance.archive(signal, () => undefined);
  };

  await archive(240_000, AbortSignal.abort());
  await archive(0);
  await archive(240_000);

  expect(events.map(({ type }) => type)).toEqual(['archived', 'archived', 'archive-behind', 'archived']);
  expect(events.at(-1)).toEqual({ type: 'archived', count: 3 });
});
