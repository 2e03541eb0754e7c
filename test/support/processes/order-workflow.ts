import { proxyActivities } from '@temporalio/workflow';

/** What the workflow has its worker do. */
export interface OrderActivities {
  /** Has its effect once for each message. */
  fulfil(messageId: string, n: number): Promise<void>;
}

const { fulfil } = proxyActivities<OrderActivities>({
  startToCloseTimeout: '1s',
  retry: { initialInterval: '100ms' },
});

/** A user's workflow, as a message starts it. */
export async function order(messageId: string, { n }: { readonly n: number }): Promise<void> {
  await fulfil(messageId, n);
}
