import { proxyActivities } from '@temporalio/workflow';
import type { PlaceActivities } from '../activities/maintenance-activities.ts';
import type { PlaceAnswer } from '../src/store/installation/twin.ts';

const { answerPlace } = proxyActivities<PlaceActivities>({
  // The relay that asks waits three seconds in total.
  startToCloseTimeout: '1 second',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '200 milliseconds' },
});

/** Asks one relay whether its database has the question. */
export async function whichDatabase(question: string): Promise<PlaceAnswer> {
  return answerPlace(question);
}
