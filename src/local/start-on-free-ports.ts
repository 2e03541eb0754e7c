import { OutboxError } from '../core/errors.ts';

const attempts = 3;

/**
 * Starts a server again with other ports when somebody took one between the choice and the start.
 *
 * @param start chooses its ports and data folder anew at each call.
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
