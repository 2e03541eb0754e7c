import { passCrashPoint } from '../core/crash-point.ts';
import { noteTold, readUntold, type UntoldTry, untoldRange } from '../store/lane/untold.ts';
import type { DrainInput } from './drain-input.ts';
import type { FailedSend, RelayEvent } from './report.ts';
import type { TopicRoute } from './topic-route.ts';

/**
 * Reports every failed try of the lane that was settled and not reported, by this owner or by one before it.
 *
 * Reports are read from the rows, so they match what the settle has written, even if its answer was lost or a row had
 * another state by then. Reported first and noted afterwards: a death in between repeats the report.
 *
 * @returns false if it must be called again, because the database could not be reached
 */
export async function tellFailures(
  { database, lane, route, report }: Pick<DrainInput, 'database' | 'lane' | 'route' | 'report'>,
  owner: string,
): Promise<boolean> {
  try {
    const range = await untoldRange(database, lane, owner);
    if (range === undefined) return true;
    for (const tried of await readUntold(database, lane, range))
      report(failureEvent(route, lane.lane, tried));
    passCrashPoint('relay:told');
    await noteTold(database, lane, owner, range);
    return true;
  } catch (error) {
    report({ type: 'error', during: 'tell', error });
    return false;
  }
}

function failureEvent(route: TopicRoute, lane: number, { retryInMs, ...tried }: UntoldTry): RelayEvent {
  const failure: FailedSend = {
    topic: route.name,
    lane,
    ...tried,
    key: route.rules.visible ? tried.key : null,
    transport: route.transport.name,
    address: route.rules.address,
  };
  return retryInMs === null
    ? { type: 'failed', ...failure }
    : { type: 'attempt-failed', retryInMs, ...failure };
}
