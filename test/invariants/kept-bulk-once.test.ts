// @module-tag apart
import { expect, inject, test } from 'vitest';
import { expectKeptOnce, keepFailed, operatorOf } from '../support/fixtures/kept-bulk.ts';
import { MemoryInbox } from '../support/fixtures/memory-inbox.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { ada } from '../support/fixtures/operator.ts';
import { until } from '../support/fixtures/until.ts';
import { startProgram } from '../support/processes/program.ts';

test('I14 F01 a bulk operation on 900 kept messages continues when its consumers are killed and changes each exactly once', {
  tags: ['actions-audited'],
}, async (context) => {
  const inbox = await MemoryInbox.create();
  context.onTestFinished(() => inbox.end());
  const operator = operatorOf(inbox, context);
  const ids = await keepFailed(inbox, 900, 30);
  const { group, url } = inbox;
  const process = { url, group, temporalAddress: inject('temporalAddress'), feeds: [] };
  const { id: started } = await operator.inbox.bulk.start(
    { group, states: ['failed'] },
    { action: 'discard' },
    { ...ada, ratePerSecond: 150 },
  );
  const id = started ?? '';
  const answered = async (): Promise<number> => (await operator.inbox.bulk.show(id)).answered;

  // One dies in mid page: what it has changed is rolled back.
  expect(
    await startProgram('fed-main', { ...process, crash: { point: 'bulk:page-open', pass: 2 } }).exited,
  ).toBe('SIGKILL');
  expect(await answered()).toBe(150);
  expect((await inbox.kept()).filter(({ state }) => state === 'failed')).toHaveLength(750);
  // One dies after the commit of a page, whose result the workflow does not have.
  expect(
    await startProgram('fed-main', { ...process, crash: { point: 'bulk:page-committed', pass: 1 } }).exited,
  ).toBe('SIGKILL');
  expect(await answered()).toBe(300);
  // One dies wherever it is. Somebody has the last message in hand, so that it cannot be through by then.
  const holder = await openTransaction(url);
  await holder.query('select from outbox.parked where message_id = $1 for update', [ids.at(-1)]);
  const doomed = startProgram('fed-main', process);
  await until(async () => (await answered()) >= 600, 120_000);
  await doomed.kill();
  await holder.rollback();
  expect((await operator.inbox.bulk.show(id)).state).toBe('running');
  const last = await inbox.consume();
  await until(async () => (await operator.inbox.bulk.show(id)).state !== 'running', 200_000);

  expect(await operator.inbox.bulk.show(id)).toMatchObject({
    state: 'done',
    counts: { discarded: 900 },
    answered: 900,
    pending: 0,
  });
  await until(() => last.events.some(({ type }) => type === 'bulk-ended'));
  expect(new Set((await inbox.kept()).map(({ state }) => state))).toEqual(new Set(['discarded']));
  await expectKeptOnce(inbox, id, ids);
});
