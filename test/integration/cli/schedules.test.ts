import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { schedule, topic } from '../../../src/index.ts';
import { fromQuery } from '../../../src/store/database/transaction.ts';
import { type CliEnd, runCli } from '../../support/fixtures/cli.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

/** One command, without a terminal and without Temporal. */
const cli = (...args: readonly string[]): Promise<CliEnd> =>
  runCli(['schedules', ...args], { DATABASE_URL: made.url, USER: 'grace' });

test('schedules are listed, paused, run, resumed and removed by commands that need no Temporal', {
  tags: ['repeating-messages'],
}, async () => {
  expect(await cli()).toMatchObject({ code: 0, stdout: 'No message repeats.\n' });
  const reports = topic('reports', z.object({}));
  await made.database.transaction((sql) =>
    schedule(
      fromQuery((text, values) => sql.query(text, values)),
      'daily',
      reports,
      {},
      { every: '1 day' },
    ),
  );

  const listed = await cli('--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    ok: true,
    schedules: [{ name: 'daily', topic: 'reports', paused: false, followed: false }],
  });
  expect(await cli('pause', 'daily')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --yes'),
  });
  expect(await cli('pause', 'daily', '--dry-run')).toMatchObject({
    code: 0,
    stdout: 'Nothing was changed. "daily" would be paused.\n',
  });
  expect(await cli('pause', 'daily', '--yes')).toMatchObject({
    code: 0,
    stdout: '"daily" is paused; relays have Temporal follow.\n',
  });
  expect((await cli()).stdout).toMatch(/^daily +reports +every 1 day +paused, Temporal/m);
  expect((await cli('run', 'daily', '--dry-run')).stdout).toBe(
    'Nothing was changed. A message of "daily" would be written.\n',
  );
  const ran = await cli('run', 'daily', '--yes', '--json');
  const { messageId } = JSON.parse(ran.stdout) as { readonly messageId: string };
  expect(await made.database.query('select id from outbox.message_all')).toEqual([{ id: messageId }]);
  expect((await cli()).stdout).toContain(`last message ${messageId}`);
  expect(await cli('resume', 'daily', '--yes', '--json')).toMatchObject({ code: 0 });
  expect(await cli('resume', 'daily', '--yes')).toMatchObject({
    code: 0,
    stdout: 'Nothing to do: "daily" is so already.\n',
  });
  expect(await cli('remove', 'daily', '--yes')).toMatchObject({ code: 0 });
  const unknown = await cli('run', 'daily', '--yes', '--json');
  expect(unknown.code).toBe(2);
  expect(JSON.parse(unknown.stdout)).toMatchObject({ ok: false, code: 'OUTBOX_SCHEDULE_UNKNOWN' });
  expect(await made.database.query('select distinct actor from outbox.audit')).toEqual([{ actor: 'grace' }]);
});
