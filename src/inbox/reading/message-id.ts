import { createHash } from 'node:crypto';
import type { IncomingMessage } from '../../brokers/source.ts';
import { chosenIdHeader } from '../../core/chosen-id.ts';
import { OutboxError } from '../../core/errors.ts';
import { isName, longestNameBytes } from '../../core/options/name.ts';
import { readable } from '../../core/reason.ts';
import { installationOf } from '../../core/receipt.ts';
import type { Position } from '../consumer-event.ts';
import { unreadable } from './unreadable.ts';

/**
 * Source of the id of a message that was not sent by an outbox: its key, a header (its name exactly as on the wire),
 * or a function. The id must be the same on every delivery of a message and unique within the topic: a message with the
 * id of another one is dropped as its duplicate.
 */
export type MessageIdRule = 'key' | { readonly header: string } | ((message: IncomingMessage) => string);

/** Reads the id of a message. @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, reason `no-id` */
export type IdReader = (message: IncomingMessage) => string;

/**
 * Makes a reader for the rule. Without a rule it is the id of CloudEvents: see {@link eventId}.
 *
 * With a rule it is `<topic>:<what the rule reads>`: the same key or request id may occur in several topics of one group
 * and identifies a different message in each.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function idReader(topic: string, rule: MessageIdRule | undefined): IdReader {
  if (rule === undefined) {
    return (message) => {
      const id = checked(message, message.header('ce_id'), 'header ce_id');
      const source = message.header('ce_source');
      return eventId(
        id,
        source === undefined ? source : utf8(message, source, 'header ce_source'),
        message.header(chosenIdHeader) !== undefined,
      );
    };
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
  } catch (thrown) {
    // Its message may quote the body.
    const error = readable(thrown);
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
  return utf8(message, id, name);
}

/** Decoding replaces invalid bytes, so different texts could become equal. */
function utf8(message: IncomingMessage, text: string, name: string): string {
  if (!text.includes('\u{fffd}') && !/\p{Surrogate}/u.test(text)) return text;
  throw unreadable(message, 'no-id', `its ${name} is not text in UTF-8`);
}

/** A source that can precede an id. URIs are ASCII without the separator, so that the two stay unambiguous. */
const plainSource = /^[\x20-\x7b\x7d\x7e]*$/;

/**
 * What distinguishes a CloudEvent from all others. Only source and id together are unique, and the ids of many systems
 * count from 1. Those that an outbox has made are unique by themselves, and without a source there is nothing to distinguish.
 *
 * @param chosen the header {@link chosenIdHeader} says that the sender of an outbox chose the id
 * @returns `<source>|<id>`, or a digest of both where that is too long, or ambiguous; the id alone if an outbox made it
 */
export function eventId(id: string, source: string | undefined, chosen: boolean): string {
  if (source === undefined || source === '') return id;
  if (!chosen && installationOf(source) !== undefined) return id;
  const both = `${source}|${id}`;
  if (plainSource.test(source) && Buffer.byteLength(both) <= longestNameBytes) return both;
  return `sha256:${createHash('sha256')
    .update(JSON.stringify([source, id]))
    .digest('hex')}`;
}

/** The position of a message, as the id of one that has no other. */
export function positionId({ address, partition, offset }: Position): string {
  return `${address}/${partition}/${offset}`;
}
