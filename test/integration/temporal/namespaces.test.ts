import { randomUUID } from 'node:crypto';
import { workflowMetadataQuery } from '@temporalio/workflow';
import { expect, test } from 'vitest';
import { showMessage } from '../../../src/operations/messages/show.ts';
import { type Stored, send } from '../../../src/outbox/send.ts';
import { writeSettings } from '../../../src/store/installation/settings.ts';
import { registerNamespace } from '../../support/fixtures/namespaces.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = numbered('orders');
const hidden = numbered('hidden', { visible: false });

/** What a workflow can be found by, without what Temporal adds by itself. */
async function searchable(stage: Stage, workflowId: string): Promise<Readonly<Record<string, unknown>>> {
  const { typedSearchAttributes } = await stage.temporal.workflow.getHandle(workflowId).describe();
  const pairs = typedSearchAttributes.getAll().map(({ key, value }): [string, unknown] => [key.name, value]);
  return Object.fromEntries(pairs.filter(([name]) => name.startsWith('Outbox')));
}

test('two databases in one namespace have no workflow in common, and each delivers its own', async (context) => {
  const stages = await Promise.all([
    openStage(context, { topics: [orders] }),
    openStage(context, { topics: [orders] }),
  ]);
  await Promise.all(stages.map((stage) => stage.relay()));
  const id = '0193b3a0-0000-7000-8000-000000000001';

  // The same topic, lane, key and even message id on both sides.
  const stored = await Promise.all(
    stages.map((stage) => stage.commit((tx) => send(tx, orders, { n: 1 }, { id, key: 'k', after: '300ms' }))),
  );

  await Promise.all(stages.map((stage) => until(async () => (await stage.stateOf(id)) === 'published')));
  expect(new Set(stored.map(({ workflowId }) => workflowId)).size).toBe(2);
  for (const [index, stage] of stages.entries()) {
    expect(await stage.journal()).toMatchObject([{ id }]);
    expect(stored[index]?.workflowId).toMatch(new RegExp(`^${stage.installation}/`));
    const lane = await stage.temporal.workflow.getHandle(`${stage.installation}/lane/orders/0`).describe();
    expect(lane.taskQueue).toContain(stage.installation);
  }
});

test('a relay refuses a copied database before it writes anything', async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  // As in a copy: the row says another database than the one it is in.
  await stage.database.query('update outbox.installation set database_oid = database_oid::bigint + 1');

  await expect(stage.relay()).rejects.toMatchObject({ code: 'OUTBOX_INSTALLATION_MOVED' });
  expect(await stage.database.query('select name from outbox.topic')).toEqual([]);
});

test('without registered search attributes workflows still start and have a memo that says so', async (context) => {
  const namespace = `bare-${randomUUID()}`;
  await registerNamespace(namespace);
  const stage = await openStage(context, { topics: [orders], namespace });
  const relay = await stage.relay();
  const { id, workflowId } = await stage.commit((tx) =>
    send(tx, orders, { n: 1 }, { key: 'customer-7', ref: 'order-42', after: '1 second' }),
  );

  await until(async () => (await stage.stateOf(id)) === 'published');
  expect(await relay.searchAttributes).toBe(false);
  const { memo } = await stage.temporal.workflow.getHandle(workflowId).describe();
  expect(memo).toEqual({ topic: 'orders', key: 'customer-7', ref: 'order-42' });
  expect(await searchable(stage, workflowId)).toEqual({});
  expect(await stage.temporal.workflow.getHandle(workflowId).result()).toMatchObject({ state: 'published' });
});

/** A shown and a hidden message that sleep until they are due, of one key and ref. */
async function sendBoth(stage: Stage) {
  const options = { after: '15 minutes', ref: 'order-42', key: 'customer-7' } as const;
  const [message, secret] = await stage.commit(async (tx) => [
    await send(tx, orders, { n: 1 }, options),
    await send(tx, hidden, { n: 2 }, options),
  ]);
  if (message === undefined || secret === undefined) throw new Error('Nothing was stored.');
  for (const { workflowId } of [message, secret])
    await until(
      async () => (await stage.temporal.workflow.getHandle(workflowId).describe()).historyLength >= 5,
    );
  return { message, secret };
}

test('with registered search attributes a message can be found by topic, key and ref, of a topic that is not visible by neither key nor ref', {
  tags: ['hidden-names-stay-out'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders, hidden] });
  const relay = await stage.relay();
  const { message, secret } = await sendBoth(stage);

  expect(await relay.searchAttributes).toBe(true);
  expect(await searchable(stage, message.workflowId)).toEqual({
    OutboxTopic: 'orders',
    OutboxKey: 'customer-7',
    OutboxRef: 'order-42',
  });
  expect(await searchable(stage, secret.workflowId)).toEqual({ OutboxTopic: 'hidden' });
  const history = await stage.temporal.workflow.getHandle(secret.workflowId).fetchHistory();
  expect(JSON.stringify(history)).not.toContain(Buffer.from('order-42').toString('base64'));
  await expectWords(stage, message, secret);
});

/** The Temporal UI shows the subject of a workflow, with names only where these may be seen, and `show` links to it. */
async function expectWords(stage: Stage, message: Stored, secret: Stored): Promise<void> {
  const describe = async (workflowId: string) => {
    const description = await stage.temporal.workflow.getHandle(workflowId).describe();
    return { summary: await description.staticSummary(), details: await description.staticDetails() };
  };
  const words = await describe(message.workflowId);
  expect(words.summary).toMatch(/^orders, ref order-42, key customer-7, due (?:\S+T)?\d\d:\d\d:\d\dZ$/);
  expect(words.details).toContain(`temporal-outbox show ${message.id}`);
  const quiet = await describe(secret.workflowId);
  expect(quiet.summary).toMatch(/^hidden, due/);
  expect(JSON.stringify(quiet)).not.toMatch(/order-42|customer-7/);
  await until(async () => {
    const metadata = await stage.temporal.workflow
      .getHandle(message.workflowId)
      .query<{ currentDetails?: string }>(workflowMetadataQuery.name);
    return /^Sleeps until it is due, \d+ s /.test(metadata.currentDetails ?? '');
  });

  expect((await showMessage(stage.database, message.id))?.workflowUrl).toBeNull();
  await writeSettings(stage.database, [
    { name: 'temporal.namespace', value: 'shop a' },
    { name: 'temporal.ui', value: 'https://temporal.example/ui/' },
  ]);
  expect((await showMessage(stage.database, message.id))?.workflowUrl).toBe(
    `https://temporal.example/ui/namespaces/shop%20a/workflows/${encodeURIComponent(message.workflowId)}`,
  );
}

test('a lane whose running workflow does nothing is still drained, and gets a new workflow after a minute', async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const workflowId = `${stage.installation}/lane/orders/0`;
  // No worker polls this queue: the workflow runs without end and never drains.
  const stuck = await stage.temporal.workflow.start('deliverLane', {
    workflowId,
    taskQueue: `${stage.installation}/nobody`,
  });
  const relay = await stage.relay();
  const { id } = await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await until(async () => (await stage.stateOf(id)) === 'published');
  expect((await stuck.describe()).status.name).toBe('RUNNING');
  await until(() => relay.events.some(({ type }) => type === 'lane-freed'));

  await stage.database.query(`update outbox.lane set wanted_since = wanted_since - interval '61 seconds'`);
  await stage.commit((tx) => send(tx, orders, { n: 2 }));

  const first = stage.temporal.workflow.getHandle(workflowId, stuck.firstExecutionRunId);
  await until(async () => (await first.describe()).status.name === 'TERMINATED');
  await until(() => relay.events.some((event) => event.type === 'lane-acquired' && !event.standIn));
  await until(async () => (await stage.arrived()) === 2);
});
