import { isUtf8 } from 'node:buffer';
import type { IHeaders } from 'kafkajs';

/** The key of a record as text. Bytes that are no UTF-8 become one character each: they would all be the same text. */
export function keyText(key: Buffer | null): string | null {
  if (key === null) return null;
  const text = key.toString();
  return text.includes('\u{fffd}') && !isUtf8(key) ? key.toString('latin1') : text;
}

/** A header of a record as text, the last one of its name. */
export function headerText(headers: IHeaders | undefined, name: string): string | undefined {
  // Strangers name them, too.
  if (headers === undefined || !Object.hasOwn(headers, name)) return undefined;
  const value = headers[name];
  return (Array.isArray(value) ? value.at(-1) : value)?.toString();
}
