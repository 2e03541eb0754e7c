import { expect, inject, onTestFinished, test } from 'vitest';
import { cancel } from '../../../../src/outbox/change.ts';
import { send, sendBatch } from '../../../../src/outbox/send.ts';
import { numbered, openStage } from '../../../support/fixtures/stage.ts';
import { until } from '../../../support/fixtures/until.ts';
import { ownClient } from '../workflow-stage.ts';

const orders = 1_000;
const ordersPerRelay = 250;

test('1,000 orders start one workflow each, while relays are killed', {
  tags: ['workflow-started-once'],
}, async () => {
  const type = `order-${process.pid}`;
  const placed = numbered('orders', { lanes: 2 });
  const stage = await openStage({ onTestFinished }, { topics: [placed] });
  const client = await ownClient(inject('ownTemporal'));
  onTestFinished(() => client.connection.close());
  const started = async (): Promise<number> => {
    const query = `WorkflowType = '${type}'`;
    const { count } = await client.workflowService.countWorkflowExecutions({ namespace: 'default', query });
    return Number(count);
  };
  const relay = () => stage.relayProcess({ workflows: { address: inject('ownTemporal'), type } });

  const place = (from: number): Promise<unknown> => {
    const batch = Array.from({ length: 50 }, (_, n) => ({ payload: { n: from + n }, key: `k${n % 7}` }));
    return stage.commit((tx) => sendBatch(tx, placed, batch));
  };

  const late = await stage.commit((tx) => send(tx, placed, { n: orders }, { after: '2s', ref: 'late' }));
  await stage.commit((tx) => send(tx, placed, { n: orders + 1 }, { after: '1 hour', ref: 'never' }));
  expect(await stage.commit((tx) => cancel(tx, placed, 'never'))).toBeTruthy();

  let running = await relay();
  for (let from = 0; from < orders; from += 50) {
    await place(from);
    if (from % ordersPerRelay > 0) continue;
    // In the midst of the orders: some of the last batch are not started, and each relay finds some to start.
    await until(async () => (await started()) >= from, 60_000);
    running.signal('SIGKILL');
    await running.exited;
    running = await relay();
  }
  await until(async () => (await started()) >= orders + 1, 60_000);
  await until(async () => (await stage.stateOf(late.id)) === 'published');

  const ids = [];
  for await (const { workflowId } of client.workflow.list({ query: `WorkflowType = '${type}'` }))
    ids.push(workflowId);
  expect(ids.length).toBe(orders + 1);
  expect(new Set(ids)).toEqual(new Set(Array.from({ length: orders + 1 }, (_, n) => `${type}-${n}`)));
});
