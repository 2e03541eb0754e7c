import { Client } from '@temporalio/client';
import { expect, inject, type TestContext, test } from 'vitest';
import { createBulkRunner } from '../../../src/bulk/bulk-runner.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { expectKeptOnce, keepFailed, operatorOf } from '../../support/fixtures/kept-bulk.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { connectTemporal } from '../../support/fixtures/temporal-connection.ts';
import { until } from '../../support/fixtures/until.ts';

/** An inbox in a database without a relay, its operator, and the workflow of an operation. */
async function openInbox(context: TestContext) {
  const inbox = await MemoryInbox.create();
  context.onTestFinished(() => inbox.end());
  const { bulk } = operatorOf(inbox, context).inbox;
  const connection = await connectTemporal();
  context.onTestFinished(() => connection.close());
  const installation = await readInstallation(inbox.database);
  const { workflow } = new Client({ connection });
  return {
    inbox,
    bulk,
    failed: { group: inbox.group, states: ['failed'] } as const,
    workflowOf: (id: string) => workflow.getHandle(`${installation}/bulk/${id}`),
    answered: async (id: string) => (await bulk.show(id)).answered,
    ended: (id: string) => until(async () => (await bulk.show(id)).state !== 'running', 90_000),
  };
}

test('two consumers without a relay retry 300 messages at a rate, with a pause in between, and handle each once in order', async (context) => {
  const { inbox, bulk, failed, workflowOf, answered, ended } = await openInbox(context);
  const ids = await keepFailed(inbox, 300, 10);
  const temporalAddress = inject('temporalAddress');
  const consumers = [
    await inbox.consume({ name: 'one', temporalAddress }),
    await inbox.consume({ name: 'two', temporalAddress }),
  ];
  const startedAt = performance.now();
  const { id: started } = await bulk.start(
    failed,
    { action: 'retry' },
    { ...ada, ratePerSecond: 50, expect: 300 },
  );
  const id = started ?? '';

  await until(async () => (await answered(id)) >= 100, 60_000);
  expect(await bulk.pause(id, ada)).toEqual({ changed: true, state: 'paused' });
  const paused = await answered(id);
  expect(paused).toBeLessThan(300);
  // One that went on would show it in the time that its workflow has for many pages.
  await until(async () => (await workflowOf(id).fetchHistory()).events?.some(isTimer) ?? false);
  expect(await answered(id)).toBe(paused);
  expect(await bulk.resume(id, ada)).toEqual({ changed: true, state: 'running' });
  await ended(id);

  expect(await bulk.show(id)).toMatchObject({
    group: inbox.group,
    state: 'done',
    counts: { retried: 300 },
    progress: 1,
  });
  expect(await workflowOf(id).result()).toEqual({ state: 'done', counts: { retried: 300 } });
  // Six pages of one second each, of which one may be caught up.
  expect(performance.now() - startedAt).toBeGreaterThan(3_900);
  await expectKeptOnce(inbox, id, ids);
  await until(async () => (await inbox.parkedKeys()) === 0, 90_000);
  const effects = await inbox.effects();
  expect(effects.toSorted((a, b) => a - b)).toEqual(range(1, 300));
  for (const key of range(0, 9)) {
    const ofKey = effects.filter((n) => n % 10 === key);
    expect(ofKey, `key ${key}`).toEqual(ofKey.toSorted((a, b) => a - b));
  }
  expect(await inbox.kept()).toEqual([]);
  expect(consumers.flatMap(({ events }) => events.filter(({ type }) => type === 'bulk-ended'))).toEqual([
    { type: 'bulk-ended', id, counts: { retried: 300 } },
  ]);
});

/** The workflow has waited: for its rate, or because it rests. */
function isTimer(event: { readonly timerStartedEventAttributes?: object | null }): boolean {
  return Boolean(event.timerStartedEventAttributes);
}

test('nothing is lost while Temporal is unreachable: an operation begins or continues when it is back', async (context) => {
  const { inbox, bulk, failed, answered, ended } = await openInbox(context);
  const proxy = await startFaultProxy(inject('temporalAddress'));
  context.onTestFinished(() => proxy.close());
  proxy.inject({ kind: 'reset' });
  const ids = await keepFailed(inbox, 200, 200);
  const running = await inbox.consume({ temporalAddress: proxy.address });
  const { id: started } = await bulk.start(failed, { action: 'discard' }, { ...ada, ratePerSecond: 40 });
  const id = started ?? '';
  await until(() => running.events.some(({ type }) => type === 'workflows-failing'));
  expect(await bulk.show(id)).toMatchObject({ state: 'running', answered: 0 });

  proxy.heal();
  await until(async () => (await answered(id)) >= 40, 90_000);
  proxy.inject({ kind: 'reset' });
  await until(() => proxy.connections() === 0);
  const before = await answered(id);
  expect(before).toBeLessThan(200);
  proxy.heal();
  await ended(id);

  expect(await bulk.show(id)).toMatchObject({ state: 'done', counts: { discarded: 200 } });
  await expectKeptOnce(inbox, id, ids);
});

test('a locked message is not overtaken by later ones of its key, and one that was edited in between stays', async (context) => {
  const { inbox, bulk, failed } = await openInbox(context);
  const [first = '', edited = '', second = ''] = await keepFailed(inbox, 3, 2);
  const { database, group, url } = inbox;
  const { id: started } = await bulk.start(failed, { action: 'retry' }, ada);
  const id = started ?? '';
  await operatorOf(inbox, context).inbox.edit({ group, id: edited }, { ...ada, payload: { n: 7 } });
  const runner = createBulkRunner({ database, ended: () => undefined, failed: () => undefined });
  const holder = await openTransaction(url);
  await holder.query('select from outbox.parked where message_id = $1 for update', [first]);

  expect(await runner.runPage(id, () => undefined)).toMatchObject({ kind: 'more' });
  expect(await bulk.show(id), 'the second one is free').toMatchObject({ answered: 0, pending: 2 });
  await holder.rollback();
  expect(await runner.runPage(id, () => undefined)).toMatchObject({ kind: 'ended' });

  expect(await bulk.show(id)).toMatchObject({ counts: { retried: 2 } });
  await expectKeptOnce(inbox, id, [first, second]);
  const states = (await inbox.kept()).map(({ n, state }) => `${n} ${state}`);
  expect(states.toSorted()).toEqual(['1 parked', '2 superseded', '3 parked', '7 parked']);
});
