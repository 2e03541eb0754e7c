import { statedTime } from './written-time.ts';

/**
 * Whether the time of the CloudEvents extension `expirytime` has passed, by the clock of this process. What is no time never passes: a
 * message with it does not expire.
 */
export function hasPassed(expirytime: string | undefined): boolean {
  const time = statedTime(expirytime);
  return time !== undefined && time.getTime() <= Date.now();
}
