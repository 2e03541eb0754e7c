import { shared } from '../core/shared.ts';

/** By the message as it arrived; entries end with it. */
const firstTries = shared('first-tries', () => new WeakMap<object, string>());

/** The `traceparent` of the first try of a message, which its later tries link to; `undefined`: none was traced. */
export function firstTryOf(incoming: object): string | undefined {
  return firstTries.get(incoming);
}

/** Notes the first traced try of a message, here or in the process that parked it. Later ones change nothing. */
export function noteFirstTry(incoming: object, traceparent: string | undefined): void {
  if (traceparent !== undefined && !firstTries.has(incoming)) firstTries.set(incoming, traceparent);
}
