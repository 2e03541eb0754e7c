import { OutboxError } from './errors.ts';

/** 32 KiB for all headers of a message, as PostgreSQL writes their JSON. */
export const headerLimitBytes = 32 * 1024;

const reserved = /^(?:ce_|outbox-|content-type$)/;

/** @throws OutboxError `OUTBOX_HEADER_INVALID` naming the header */
export function assertHeaders(headers: Readonly<Record<string, string>>): void {
  if (!isPlain(headers))
    throw new OutboxError('OUTBOX_HEADER_INVALID', 'The headers must be a plain object: names with strings.');
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[a-z0-9][a-z0-9_.-]{0,127}$/.test(name))
      throw refuse(name, 'has a name other than 1 to 128 of a-z, 0-9, "_", ".", "-"');
    if (reserved.test(name)) throw refuse(name, 'is written by the outbox itself');
    if (typeof value !== 'string' || /\0|\p{Surrogate}/u.test(value))
      throw refuse(name, 'is not a string without NUL and lone surrogates');
  }
  const bytes = storedBytes(headers);
  if (bytes > headerLimitBytes) {
    throw new OutboxError(
      'OUTBOX_HEADER_INVALID',
      `The headers have ${bytes} bytes; ${headerLimitBytes} are allowed.`,
      { details: { bytes } },
    );
  }
}

/** A `Map` or `Headers` has none of its entries as properties. The prototype may be that of another realm. */
function isPlain(given: unknown): boolean {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** jsonb is written with a space after each colon and comma. */
function storedBytes(headers: Readonly<Record<string, string>>): number {
  const count = Object.keys(headers).length;
  return Buffer.byteLength(JSON.stringify(headers)) + Math.max(0, 2 * count - 1);
}

function refuse(name: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_HEADER_INVALID', `The header "${name}" ${why}.`, {
    details: { header: name },
  });
}
