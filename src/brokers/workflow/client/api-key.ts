import { askSecret, type Secret } from '../../../core/ask-secret.ts';
import type { TemporalConnection } from './temporal-address.ts';

/**
 * Gives a connection new API keys until it is stopped. While the function fails, the last key stays in use; calls that are
 * refused with it report that.
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
      // The function is called again.
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void renew(), everyMs).unref();
  return { stop: () => clearInterval(timer) };
}
