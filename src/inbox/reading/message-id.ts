import { OutboxError } from '../../core/errors.ts';
import type { IncomingMessage } from '../../sources/source.ts';
import type { Position } from '../consumer-event.ts';
import { isName } from '../once.ts';
import { unreadable } from './unreadable.ts';

/**
 * Where the id of a message comes from that was not sent by an outbox: its key, a header (its name exactly as on the wire),
 * or a function. The id must be the same on every delivery of a message and unique within the topic: a message with the
 * id of another one is dropped as its duplicate.
 */
export type MessageIdRule = 'key' | { readonly header: string } | ((message: IncomingMessage) => string);

/** Reads the id of a message. @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, reason `no-id` */
export type IdReader = (message: IncomingMessage) => string;

/**
 * Makes a reader for the rule. Without a rule the id is the header `ce_id`, which is globally unique.
 *
 * With a rule it is `<topic>:<what the rule reads>`: the same key or request id may occur in several topics of one group
 * and identifies a different message in each.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function idReader(topic: string, rule: MessageIdRule | undefined): IdReader {
  if (rule === undefined) {
    return (message) => checked(message, message.header('ce_id'), 'header ce_id');
  }
  const { read, name } = readerOf(topic, rule);
  return (message) => checked(message, `${topic}:${checked(message, read(message), name)}`, name);
}

interface NamedReader {
  readonly read: (message: IncomingMessage) => unknown;
  /** What it reads, for error messages. */
  readonly name: string;
}

function readerOf(topic: string, rule: MessageIdRule): NamedReader {
  if (rule === 'key') return { read: ({ key }) => key ?? undefined, name: 'key' };
  if (typeof rule === 'function') {
    return { read: (message) => called(rule, message), name: 'id of the function "id"' };
  }
  const header: unknown = typeof rule === 'object' && rule !== null ? rule.header : undefined;
  if (typeof header === 'string' && header !== '' && Object.keys(rule).length === 1) {
    return { read: (message) => message.header(header), name: `header ${header}` };
  }
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option "id" of the handler of "${topic}" is neither "key" nor { header: '…' } nor a function.`,
    { details: { option: 'id', topic } },
  );
}

function called(rule: (message: IncomingMessage) => string, message: IncomingMessage): unknown {
  try {
    return rule(message);
  } catch (error) {
    // Its message may quote the body.
    const name = error instanceof Error ? error.name : typeof error;
    throw unreadable(message, 'no-id', `the function that returns its id threw a ${name}`, error);
  }
}

/** Matches nearly every id, which then needs none of the checks below. */
const plain = /^[\x20-\x7e]{1,512}$/;

function checked(message: IncomingMessage, id: unknown, name: string): string {
  if (typeof id === 'string' && plain.test(id)) return id;
  if (id === undefined) throw unreadable(message, 'no-id', `it has no ${name}`);
  if (!isName(id))
    throw unreadable(message, 'no-id', `its ${name} is not an id of 1 to 512 bytes without NUL`);
  // Decoding replaces invalid bytes, so different ids could become equal.
  if (id.includes('\u{fffd}') || /\p{Surrogate}/u.test(id))
    throw unreadable(message, 'no-id', `its ${name} is not text in UTF-8`);
  return id;
}

/** The position of a message, as the id of one that has no other. */
export function positionId({ address, partition, offset }: Position): string {
  return `${address}/${partition}/${offset}`;
}
