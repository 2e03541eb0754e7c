import { aborted, rest } from './rest.ts';

/**
 * Looks again and again until the signal fires, and rests in between. A look under way is not waited for then: a question to a
 * server that is away takes seconds.
 *
 * @param look must not reject
 */
export async function keepLooking(
  look: () => Promise<void>,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const stopped = aborted(signal);
  while (!signal.aborted) {
    await Promise.race([look(), stopped]);
    await rest(everyMs, signal);
  }
}
