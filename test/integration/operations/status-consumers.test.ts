import { expect, test } from 'vitest';
import type { Status } from '../../../src/operations/delivery/status.ts';
import { statusOf } from '../../../src/operations/delivery/status.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

test('status shows consumers with host, version and partitions until they stop', {
  tags: ['consumers-visible'],
}, async (context) => {
  const inbox = await MemoryInbox.create({ partitions: 4 });
  context.onTestFinished(() => inbox.end());
  inbox.feed({ n: 1 });
  const consumer = await inbox.consume();
  const told = async () => (await statusOf(inbox.database)).consumers;
  await until(async () => (await told()).some(({ partitions }) => partitions.length > 0));

  const { stdout } = await runCli(['status', '--json', '--database', inbox.url]);
  const { consumers } = JSON.parse(stdout) as Status;
  expect(consumers).toEqual([
    {
      id: expect.any(String),
      group: inbox.group,
      host: 'here',
      pid: process.pid,
      version: '1.2.3',
      startedAt: expect.any(String),
      seenMs: expect.any(Number),
      alive: true,
      partitions: [{ address: 'numbers', partitions: [0, 1, 2, 3] }],
    },
  ]);
  expect(consumers[0]?.seenMs).toBeLessThan(15_000);
  const seen = runCli(['status', '--database', inbox.url]);
  expect((await seen).stdout).toMatch(
    /\nRUNNING CONSUMER +HOST +PID +VERSION +SEEN +PARTITIONS\ngroup-\S+ +here +\d+ +1\.2\.3 +\d.* m?s +numbers 0-3\n/,
  );

  await consumer.stop();
  expect(await told()).toEqual([]);
});

test('a running consumer refreshes its record; one row remains of those that are gone, and none after an hour', {
  tags: ['consumers-visible'],
}, async (context) => {
  const inbox = await MemoryInbox.create();
  context.onTestFinished(() => inbox.end());
  const { database } = inbox;
  const insert = (pid: number, ago: string) =>
    database.query(
      `insert into outbox.consumer (id, consumer_group, host, pid, version, seen_at, partitions)
       values (gen_random_uuid(), 'billing', 'there', $1, '1.0.0', clock_timestamp() - $2::interval, '[]')`,
      [pid, ago],
    );
  await insert(7, '16 s');
  await insert(8, '4 min');
  await insert(9, '61 min');
  const { stdout } = await runCli(['status', '--database', inbox.url]);
  expect(stdout).toMatch(/\n3 consumers are gone, the last one not seen for \d\d\.\d s: there \(pid 7\)\n/);

  await inbox.consume();
  const pids = async () => (await statusOf(database)).consumers.map(({ pid, alive }) => [pid, alive]);
  await until(async () => (await pids()).some(([, alive]) => alive));
  expect(await pids()).toEqual([
    [7, false],
    [8, false],
    [process.pid, true],
  ]);

  // The row of the group is written every few minutes.
  await database.query(`update outbox.consumer_group set seen_at = seen_at - interval '4 min'`);
  const group = async () => (await statusOf(database)).groups.find((one) => one.group === inbox.group);
  expect((await group())?.seenMs).toBeLessThan(15_000);

  await database.query(`update outbox.consumer set seen_at = seen_at - interval '16 s' where host = 'here'`);
  await expect.poll(async () => (await pids()).at(-1), { timeout: 15_000 }).toEqual([process.pid, true]);
});
