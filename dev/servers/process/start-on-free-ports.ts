import { OutboxError } from '../../../src/core/errors.ts';

const attempts = 3;

/**
 * Retries a start on other ports if a chosen port was taken before the server could bind it.
 *
 * @param start chooses new ports and a new data folder at each call.
 */
export async function startOnFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === attempts || !isPortTaken(error)) throw error;
    }
  }
}

function isPortTaken(error: unknown): boolean {
  if (!(error instanceof OutboxError)) return false;
  const tail = error.details['logTail'];
  return typeof tail === 'string' && /address already in use|port is already allocated/i.test(tail);
}
