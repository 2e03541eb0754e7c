import { workflowMetadataQuery } from '@temporalio/workflow';
import { expect, test, vi } from 'vitest';
import { showMessage } from '../../../src/operations/show.ts';
import { send } from '../../../src/outbox/send.ts';
import { writeSettings } from '../../../src/store/installation/settings.ts';
import { numbered, openStage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

// Workers, servers and commands start in seconds on a quiet machine, and in ten times that on a busy one.
vi.setConfig({ testTimeout: 180_000 });

const shown = numbered('order-timeout');
const hidden = numbered('hidden', { visible: false });

test('the Temporal UI shows the subject of a workflow, with names only where these may be seen, and show links to it', {
  tags: ['hidden-names-stay-out'],
}, async (context) => {
  const stage = await openStage(context, { topics: [shown, hidden] });
  await stage.relay();
  const options = { after: '15 minutes', ref: 'order-42', key: 'customer-7' } as const;
  const [message, secret] = await stage.commit(async (tx) => [
    await send(tx, shown, { n: 1 }, options),
    await send(tx, hidden, { n: 2 }, options),
  ]);
  if (message === undefined || secret === undefined) throw new Error('Nothing was stored.');
  const describe = async (workflowId: string) => {
    const description = await stage.temporal.workflow.getHandle(workflowId).describe();
    return { summary: await description.staticSummary(), details: await description.staticDetails() };
  };
  await until(async () => (await describe(message.workflowId)).summary !== undefined);
  await until(async () => (await describe(secret.workflowId)).summary !== undefined);

  const words = await describe(message.workflowId);
  expect(words.summary).toMatch(
    /^order-timeout, ref order-42, key customer-7, due (?:\S+T)?\d\d:\d\d:\d\dZ$/,
  );
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
});
