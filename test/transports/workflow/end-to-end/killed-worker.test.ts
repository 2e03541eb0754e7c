import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { sendBatch } from '../../../../src/outbox/send.ts';
import { type WorkflowMessage, workflow } from '../../../../src/transports.ts';
import { openFaultStage } from '../../../support/faults/fault-stage.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { range } from '../../../support/fixtures/inbox-stage.ts';
import { numbered } from '../../../support/fixtures/stage.ts';
import { startProgram } from '../../../support/processes/program.ts';
import { ownClient } from '../workflow-stage.ts';

const count = 20;

test('each workflow has its effect once, although its worker is killed between the commit and its report', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query('create table effect (seq bigserial, n int, consumer text)');
  const address = inject('ownTemporal');
  const taskQueue = `orders-${randomUUID()}`;
  const id = ({ payload }: WorkflowMessage): string => `${taskQueue}-${(payload as { n: number }).n}`;
  const placed = numbered('orders');
  const stage = openFaultStage(
    { onTestFinished },
    { url: made.url, topics: [placed], transport: () => workflow({ address, type: 'order', taskQueue, id }) },
  );
  const common = { address, url: made.url, taskQueue, codePath: await bundled() };
  const killed = startProgram('order-worker-main', { ...common, name: 'killed', dieAtCommit: count });
  await stage.relay();
  await stage.commit((tx) =>
    sendBatch(
      tx,
      placed,
      range(1, count).map((n) => ({ payload: { n }, key: `key-${n}` })),
    ),
  );

  expect(await killed.exited).toBe('SIGKILL');
  const last = startProgram('order-worker-main', { ...common, name: 'last' });
  onTestFinished(() => last.kill());
  const [untold] = await made.database.query<{ readonly n: number }>(
    'select n from effect order by seq desc limit 1',
  );
  const client = await ownClient(address);
  onTestFinished(() => client.connection.close());
  const handle = client.workflow.getHandle(`${taskQueue}-${untold?.n}`);
  await handle.result();
  await stage.untilDone();

  // Temporal had not been told, and tried the activity again.
  const { events } = await handle.fetchHistory();
  const attempts = (events ?? []).map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0);
  expect(Math.max(...attempts)).toBeGreaterThan(1);
  const effects = await made.database.query<{ readonly n: number }>('select n from effect order by n');
  expect(effects.map(({ n }) => n)).toEqual(range(1, count));
});

/** The bundle of the user's workflow, in a file that ends with the test. */
async function bundled(): Promise<string> {
  const workflowsPath = fileURLToPath(
    new URL('../../../support/processes/order-workflow.ts', import.meta.url),
  );
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger('ERROR', () => undefined),
  });
  const folder = await mkdtemp(join(tmpdir(), 'outbox-orders-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const codePath = join(folder, 'workflows.js');
  await writeFile(codePath, code);
  return codePath;
}
