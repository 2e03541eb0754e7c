import { OutboxError } from '../core/errors.ts';
import type { ApiKey, TemporalConnection } from './temporal-address.ts';

/**
 * The key of now. Where keys come from may be away, as a server may: that passes.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_CONFIG_INVALID`
 */
export async function askApiKey(given: ApiKey): Promise<string> {
  if (typeof given === 'string') return given;
  let key: unknown;
  try {
    key = await given();
  } catch (cause) {
    if (cause instanceof OutboxError) throw cause;
    const said = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
    throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `The function temporal.apiKey failed: ${said}.`, {
      details: { setting: 'temporal.apiKey' },
      cause,
    });
  }
  if (typeof key === 'string' && key !== '') return key;
  throw new OutboxError('OUTBOX_CONFIG_INVALID', 'The function temporal.apiKey answered no text.', {
    details: { setting: 'temporal.apiKey' },
  });
}

/**
 * Gives a connection the keys of later, until it is stopped. While the function fails the key of before goes on: whoever
 * is refused with it says so.
 */
export function renewApiKey(
  connection: Pick<TemporalConnection, 'setApiKey'>,
  given: ApiKey,
  first: string,
  everyMs: number,
): { stop(): void } {
  let current = first;
  let asking = false;
  const renew = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    try {
      const key = await askApiKey(given);
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
