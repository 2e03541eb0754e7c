import { proxyActivities, sleep } from '@temporalio/workflow';

interface BareActivities {
  answer(id: string): Promise<string>;
}

const { answer } = proxyActivities<BareActivities>({ startToCloseTimeout: '10 seconds' });

/** The least that a delayed message by Temporal alone is: it sleeps, and runs an activity. */
export async function bareWorkflow(id: string, dueInMs: number): Promise<string> {
  await sleep(dueInMs);
  return answer(id);
}
