import { randomUUID } from 'node:crypto';
import { afterEach, expect, inject, test } from 'vitest';
import { statusCommand } from '../../../src/cli/status-command.ts';
import { type Status, statusOf } from '../../../src/operations/delivery/status.ts';
import { writeBreakers } from '../../../src/store/inbox/breakers.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';
import { written } from '../../support/fixtures/written.ts';
import { startProgram } from '../../support/processes/program.ts';

let inbox: MemoryInbox;
afterEach(() => inbox.end());

/** Counts what is written into the table of breakers from now on. */
async function countWrites(): Promise<() => Promise<number>> {
  await inbox.database.query(`create table breaker_write (at timestamptz);
    create function note_write() returns trigger language plpgsql as 'begin insert into breaker_write values (now()); return null; end';
    create trigger note_write after insert or update or delete on outbox.breaker for each statement execute function note_write()`);
  return async () => (await inbox.database.query('select from breaker_write')).length;
}

test('status shows the pauses of a consumer’s breaker in another process, without payloads, until they end', {
  tags: ['stopped-elsewhere-is-shown'],
}, async () => {
  inbox = await MemoryInbox.create();
  const writes = await countWrites();
  let open = true;
  const running = await inbox.consume({
    quickRetries: [],
    breaker: { longestPause: '1s' },
    before: ({ payload: { n } }) => {
      if (!open) throw new Error(`The bank refuses the account ${n}.`);
    },
  });
  inbox.feed(...range(1, 20).map((n) => ({ n, key: `k${n}` })));
  await until(() => running.counts().handled === 20);
  expect((await statusOf(inbox.database)).breakers).toEqual([]);
  expect(await writes()).toBe(0);

  open = false;
  inbox.feed(...range(471_100, 471_120).map((n) => ({ n, key: `k${n}` })));
  await until(async () => (await statusOf(inbox.database)).breakers.some(({ probes }) => probes > 0));
  const { code, stdout } = await runCli(['status', '--database', inbox.url, '--json']);
  expect(code).toBe(0);
  const { breakers } = JSON.parse(stdout) as Status;

  expect(breakers).toEqual([
    {
      group: inbox.group,
      address: 'numbers',
      host: 'here',
      pid: process.pid,
      pausedAt: expect.any(String),
      pausedMs: expect.any(Number),
      failedKeys: expect.any(Number),
      keys: expect.any(Number),
      probes: expect.any(Number),
      nextProbeInMs: expect.any(Number),
      error: 'Error: The bank refuses the account ….',
      seenMs: expect.any(Number),
    },
  ]);
  const { errorText, failedKeys, keys, since } = running.paused()[0] ?? {};
  expect(breakers[0]).toMatchObject({ error: errorText, failedKeys, keys });
  expect(Math.abs(new Date(breakers[0]?.pausedAt ?? 0).getTime() - (since?.getTime() ?? 0))).toBeLessThan(
    1_000,
  );

  open = true;
  await until(() => running.paused().length === 0);
  await until(async () => (await inbox.database.query('select from outbox.breaker')).length === 0);
  expect((await statusOf(inbox.database)).breakers).toEqual([]);
});

test('a consumer that stops removes its pauses', async () => {
  inbox = await MemoryInbox.create();
  const running = await inbox.consume({
    quickRetries: [],
    before: () => {
      throw new Error('the bank is closed');
    },
  });
  inbox.feed(...range(1, 20).map((n) => ({ n, key: `k${n}` })));
  await until(async () => (await statusOf(inbox.database)).breakers.length === 1);

  await running.stop();

  expect(await inbox.database.query('select from outbox.breaker')).toEqual([]);
});

test('the pauses of a killed consumer disappear from status after some seconds', {
  tags: ['stopped-elsewhere-is-shown'],
}, async ({ onTestFinished }) => {
  inbox = await MemoryInbox.create();
  const consumer = startProgram('fed-main', {
    url: inbox.url,
    group: inbox.group,
    temporalAddress: inject('temporalAddress'),
    quickRetries: [],
    feeds: range(1, 20).map((n) => ({ n, key: `k${n}` })),
    failing: 'all',
    failures: 1_000,
  });
  onTestFinished(() => consumer.kill());
  const told = async () => (await statusOf(inbox.database)).breakers;
  await until(async () => (await told()).length === 1, 60_000);
  const lastSeen = async () =>
    (await inbox.database.query<{ at: Date }>('select seen_at as at from outbox.breaker'))[0]?.at.getTime() ??
    0;
  // It is written repeatedly, so it is shown as long as it is true.
  const first = await lastSeen();
  await until(async () => (await lastSeen()) > first);

  await consumer.kill();
  const sixSecondsOld = `select from outbox.breaker where seen_at < clock_timestamp() - interval '6 s'`;
  await until(async () => (await inbox.database.query(sixSecondsOld)).length === 1);

  expect(await told()).toEqual([]);
  // It is no longer shown because nothing writes it, not because it was deleted.
  expect(await inbox.database.query('select from outbox.breaker')).toHaveLength(1);
});

test('status shows a row per group and address in 80 columns, and every write deletes expired rows', async () => {
  inbox = await MemoryInbox.create();
  const { database, url } = inbox;
  const pause = {
    address: 'a-topic-whose-name-is-longer-than-anybody-wants-to-read-it',
    pausedMs: 90_000,
    failedKeys: 5,
    keys: 6,
    probes: 4,
    nextProbeInMs: 60_000,
    error: `Error: connect ECONNREFUSED\u0000 ${'and so on '.repeat(30)}`,
  };
  const owner = (pid: number) => ({
    group: 'a-group-whose-name-is-longer-than-anybody-wants-to-read-it',
    host: 'a-host-whose-name-is-longer-than-anybody-wants-to-read-it',
    consumer: randomUUID(),
    pid,
  });
  const [dead, one, other] = [owner(4_710), owner(4_711), owner(4_712)];
  await writeBreakers(database, dead, [pause]);
  await database.query(`update outbox.breaker set seen_at = seen_at - interval '61 minutes'`);
  await writeBreakers(database, one, [pause, { ...pause, address: 'payments', nextProbeInMs: 0 }]);
  await writeBreakers(database, other, [{ ...pause, pausedMs: 1_000 }]);

  const { stdout } = await written((output) => statusCommand({ database: url }, output));
  const lines = stdout.split('\n');
  const at = lines.findIndex((line) => line.startsWith('BREAKER OF'));

  expect(await database.query('select from outbox.breaker')).toHaveLength(3);
  expect(lines.slice(at, at + 6)).toEqual([
    expect.stringMatching(/^BREAKER OF +ADDRESS +SINCE +FAILED KEYS +FAILED PROBES +NEXT PROBE$/),
    expect.stringMatching(/^a-group-\S+… +a-topic-\S+… +90\.\d s +10 of 12 +8 +in \d\d\.\d s$/),
    expect.stringMatching(/^ {2}a-host-\S+… \(pid 4711\) and 1 more: Error: connect ECONNREFUSED␀ …$/),
    expect.stringMatching(/^a-group-\S+… +payments +90\.\d s +5 of 6 +4 +now$/),
    expect.stringMatching(/^ {2}a-host-\S+… \(pid 4711\): Error: connect ECONNREFUSED/),
    'A pause ends by itself, when a probe of one message succeeds.',
  ]);
  expect(Math.max(...lines.slice(at).map((line) => line.length))).toBeLessThanOrEqual(80);

  await writeBreakers(database, one, [pause]);
  expect((await statusOf(database)).breakers.map(({ pid, address }) => [pid, address])).toEqual([
    [4_711, pause.address],
    [4_712, pause.address],
  ]);
});
