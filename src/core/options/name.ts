import type { Reader } from './reader.ts';
import { value } from './values.ts';

/** Limit for the name of a consumer group and for a message id: both are part of one index entry. */
export const longestNameBytes = 512;

/** True for what can be part of the key of a processed message. */
export function isName(given: unknown): given is string {
  return (
    typeof given === 'string' &&
    given !== '' &&
    !given.includes('\0') &&
    Buffer.byteLength(given) <= longestNameBytes
  );
}

/** Such a name, which a person can read. */
export const name = (): Reader<string> =>
  value(`a text of 1 to ${longestNameBytes} bytes without NUL that is not blank`, (given) =>
    isName(given) && given.trim() !== '' ? given : undefined,
  );
