import { expect, test } from 'vitest';
import { runCli } from '../../support/fixtures/cli.ts';
import { keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { tablesWith } from '../../support/fixtures/stored-text.ts';

const canary = 'canary-4711';

test('expunge removes body, headers and error of a discarded message, which stays unhandled for good', {
  tags: ['expunged-is-gone'],
}, async (end) => {
  const fixture = await keptFixture(end);
  const { database, group, operator } = fixture;
  const id = await fixture.keep('a', {
    state: 'failed',
    body: new TextEncoder().encode(`{"email":"${canary}"}`),
    headers: { email: canary },
  });
  await database.query('update outbox.parked set last_error = $1', [canary]);
  const only = { group, ids: [id] };

  expect(await operator.inbox.expunge(only, ada)).toMatchObject([{ result: 'not-ended', state: 'failed' }]);
  expect(await tablesWith(database, canary)).toEqual(['parked']);
  await operator.inbox.discard(only, ada);
  expect(await operator.inbox.expunge(only, ada)).toMatchObject([{ result: 'expunged', state: 'discarded' }]);

  expect(await tablesWith(database, canary)).toEqual([]);
  expect(await operator.inbox.show({ group, id })).toMatchObject({
    message: {
      body: null,
      headers: {},
      key: 'K',
      lastError: null,
      state: 'discarded',
      expungedAt: expect.any(Date),
    },
  });
  expect((await fixture.audit()).at(-1)).toMatchObject({
    action: 'expunge',
    id,
    result: 'expunged',
    details: { state: 'discarded' },
  });
  const again = await operator.inbox.retry(only, ada);
  expect(again).toMatchObject([{ result: 'too-late' }]);
});

test('the command expunges kept messages by their ids, and shows since when', async (end) => {
  const fixture = await keptFixture(end);
  const [failed, other] = [
    await fixture.keep('a', { key: 'A', state: 'failed' }),
    await fixture.keep('b', { key: 'B', state: 'failed' }),
  ];
  await fixture.operator.inbox.discard({ group: fixture.group, ids: [failed] }, ada);
  const cli = (...args: readonly string[]) =>
    runCli(['inbox', ...args, '--group', fixture.group], { DATABASE_URL: fixture.url });

  const both = await cli('expunge', failed, other, '--yes');
  const none = await cli('expunge', '--yes');
  const handled = await fixture.keep('c', { key: 'C' });
  await fixture.drain(handled);
  const late = await cli('expunge', handled, '--yes');
  const shown = await cli('show', failed);

  expect(both).toMatchObject({ code: 4, stderr: 'not-ended: failed: discard it first.\n' });
  expect(none).toMatchObject({ code: 2 });
  expect(late).toMatchObject({
    code: 1,
    stderr: 'too-late: handled: its effects are committed, and the group no longer keeps it.\n',
  });
  expect(none.stderr).toContain('Name messages by their ids.');
  expect(shown.stdout).toMatch(/^body +expunged \d{4}-.*Z, with headers and error$/m);
});
