import { isUtf8 } from 'node:buffer';
import type { IHeaders } from 'kafkajs';

/** The key of a record as text. If it is not UTF-8, each byte becomes a character, so that different keys stay different. */
export function keyText(key: Buffer | null): string | null {
  if (key === null) return null;
  const text = key.toString();
  return text.includes('\u{fffd}') && !isUtf8(key) ? key.toString('latin1') : text;
}

/** A header of a record as text, the last one of its name. */
export function headerText(headers: IHeaders | undefined, name: string): string | undefined {
  // Header names may come from other senders.
  if (headers === undefined || !Object.hasOwn(headers, name)) return undefined;
  const value = headers[name];
  return (Array.isArray(value) ? value.at(-1) : value)?.toString();
}
