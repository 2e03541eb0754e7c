import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities } from './activities.ts';

const { ship } = proxyActivities<Activities>({ startToCloseTimeout: '10 seconds' });
const paidSignal = defineSignal<[messageId: string, payload: { orderId: string }]>('paid');

/** Waits for the payment, however long that takes, then ships. */
export async function fulfilOrder(_messageId: string, { orderId }: { orderId: string }): Promise<string> {
  let paid = false;
  setHandler(paidSignal, () => {
    paid = true;
  });
  await condition(() => paid);
  await ship(orderId);
  return 'shipped';
}
