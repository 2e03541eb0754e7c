import { expect, test } from 'vitest';
import { changeCommand } from '../../../src/cli/change-command.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { written } from '../../support/fixtures/written.ts';

test('a message locked by another transaction counts as not done: exit code 1, and 4 together with one that is done', async (context) => {
  const fixture = await laneFixture();
  context.onTestFinished(() => fixture.drop());
  const locked = await fixture.send('locked', { afterMs: 3_600_000 });
  const free = await fixture.send('free', { afterMs: 3_600_000 });
  const other = await fixture.begin();
  await other.query('select from outbox.message where id = $1 for update', [locked]);
  const flags = { database: fixture.url, yes: true, actor: 'grace' };
  const cancel = (...ids: readonly string[]) =>
    written((output) =>
      changeCommand({ action: 'cancel' }, flags, ids, output, (at, target, options) =>
        at.cancel(target, options),
      ),
    );

  const alone = await cancel(locked);
  expect(alone.stdout).toMatch(/ busy /);
  expect(alone.code).toBe(1);
  const beside = await cancel(locked, free);
  expect(beside.stdout).toMatch(/ busy /);
  expect(beside.stdout).toMatch(/ canceled /);
  expect(beside.code).toBe(4);

  await other.rollback();
  expect((await cancel(locked)).code).toBe(0);
});
