import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from '../../brokers/source.ts';
import { unreadable } from './unreadable.ts';

/**
 * Parses a body of JSON in UTF-8, with or without a byte order mark. Numbers become doubles, as always in
 * JavaScript: integers beyond 2^53 lose digits, and a number above 1.8e308 becomes infinite.
 *
 * @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, reason `unreadable`
 */
export function parseBody(message: IncomingMessage): unknown {
  const { body } = message;
  if (body === null) throw unreadable(message, 'unreadable', 'it has no body');
  // Checked first: the conversion replaces invalid bytes and would let a corrupt text through.
  if (!isUtf8(body)) throw unreadable(message, 'unreadable', 'its body is not UTF-8');
  try {
    // oxlint-disable-next-line eslint/no-restricted-properties -- the error has the position, and only that
    return JSON.parse(textOf(body));
  } catch (error) {
    // The parser's message quotes the body, so the error is not kept as the cause either.
    throw unreadable(message, 'unreadable', `its body is not JSON${positionIn(error)}`);
  }
}

function textOf(body: Uint8Array): string {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', marked ? 3 : 0);
}

function positionIn(error: unknown): string {
  // Only at the end: elsewhere it may be a quotation of the body.
  const position =
    error instanceof SyntaxError ? / at position (\d+)(?: \(.*\))?$/.exec(error.message)?.[1] : undefined;
  return position === undefined ? '' : ` (character ${position})`;
}
