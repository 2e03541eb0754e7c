import { OutboxError } from './errors.ts';
import { reasonOf } from './reason.ts';
import { secret } from './secrets.ts';

/** A password or a key, or a function that returns the current one. */
export type Secret = string | (() => string | Promise<string>);

/**
 * The current secret. A function that fails counts as an unreachable server, because its source may be down for a while.
 *
 * @param setting its name in errors
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if the function fails, `OUTBOX_CONFIG_INVALID` if it does not return a string
 */
export async function askSecret(setting: string, given: Secret): Promise<string> {
  if (typeof given === 'string') return secret(given);
  const details = { setting };
  let answer: unknown;
  try {
    answer = await given();
  } catch (cause) {
    if (cause instanceof OutboxError) throw cause;
    const said = reasonOf(cause).replace(/\.$/, '');
    throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `The function ${setting} failed: ${said}.`, {
      details,
      cause,
    });
  }
  if (typeof answer === 'string' && answer !== '') return secret(answer);
  throw new OutboxError('OUTBOX_CONFIG_INVALID', `The function ${setting} did not return a string.`, {
    details,
  });
}
