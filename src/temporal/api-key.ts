import { askSecret, type Secret } from '../core/ask-secret.ts';
import type { TemporalConnection } from './temporal-address.ts';

/**
 * Gives a connection the keys of later, until it is stopped. While the function fails the key of before goes on: whoever
 * is refused with it says so.
 */
export function renewApiKey(
  connection: Pick<TemporalConnection, 'setApiKey'>,
  given: Secret,
  first: string,
  everyMs: number,
): { stop(): void } {
  let current = first;
  let asking = false;
  const renew = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    try {
      const key = await askSecret('temporal.apiKey', given);
      if (key !== current) await connection.setApiKey(key);
      current = key;
    } catch {
      // It is asked again.
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void renew(), everyMs).unref();
  return { stop: () => clearInterval(timer) };
}
