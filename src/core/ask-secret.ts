import { OutboxError } from './errors.ts';

/** A password or a key, or what answers the one of now. */
export type Secret = string | (() => string | Promise<string>);

/**
 * The secret of now. Where secrets come from may be away, as a server may: that passes.
 *
 * @param setting names it in errors
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when the function fails, `OUTBOX_CONFIG_INVALID` when it answers no text
 */
export async function askSecret(setting: string, given: Secret): Promise<string> {
  if (typeof given === 'string') return given;
  const details = { setting };
  let answer: unknown;
  try {
    answer = await given();
  } catch (cause) {
    if (cause instanceof OutboxError) throw cause;
    const said = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
    throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `The function ${setting} failed: ${said}.`, {
      details,
      cause,
    });
  }
  if (typeof answer === 'string' && answer !== '') return answer;
  throw new OutboxError('OUTBOX_CONFIG_INVALID', `The function ${setting} returned no string.`, { details });
}
