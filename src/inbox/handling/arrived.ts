import { createHash } from 'node:crypto';
import type { IncomingMessage } from '../../brokers/source.ts';
import { chosenIdHeader } from '../../core/chosen-id.ts';
import { OutboxError } from '../../core/errors.ts';
import { isName } from '../../core/options/name.ts';
import { storableText } from '../../store/database/storable-text.ts';
import type { KeyedMessage, Position } from '../consumer-event.ts';
import { eventId, positionId } from '../reading/message-id.ts';
import { refusalReasonOf } from '../reading/unreadable.ts';
import type { Route } from '../route.ts';
import type { RouteTable } from '../route-table.ts';

/** The route of a message, or why it has no handler. */
export type RouteOrRefusal<Tx> = Route<Tx> | { readonly kind: 'refused'; readonly error: OutboxError };

/** A message whose id and route are known. */
export class Arrived<Tx> {
  readonly incoming: IncomingMessage;
  /** Its id, or its position if it has none. */
  readonly id: string;
  readonly topic: string;
  readonly route: RouteOrRefusal<Tx>;
  #key: string | null | undefined;

  constructor(incoming: IncomingMessage, { id, topic, route }: Pick<Arrived<Tx>, 'id' | 'topic' | 'route'>) {
    this.incoming = incoming;
    this.id = id;
    this.topic = topic;
    this.route = route;
  }

  /** Messages of one topic and key are handled in order. Computed lazily, because duplicates do not need it. */
  get key(): string | null {
    if (this.#key === undefined) {
      const { key } = this.incoming;
      this.#key = key === null ? null : bounded(key);
    }
    return this.#key;
  }
}

/** A message of a topic that has no handler in this consumer. */
export interface Ignored {
  readonly incoming: IncomingMessage;
  readonly ignored: string;
}

/** Reads address and headers only, so that the bodies of duplicates are never parsed. */
export function identify<Tx>(incoming: IncomingMessage, routes: RouteTable<Tx>): Arrived<Tx> | Ignored {
  try {
    const route = routes.find(incoming);
    if (typeof route === 'string') return { incoming, ignored: route };
    return new Arrived(incoming, { id: route.idOf(incoming), topic: route.topic.name, route });
  } catch (error) {
    const reason = refusalReasonOf(error);
    if (reason === undefined || !(error instanceof OutboxError)) throw error;
    // The id identifies repeats even for an unknown topic.
    const id = reason === 'no-id' ? undefined : incoming.header('ce_id');
    return new Arrived<Tx>(incoming, {
      id:
        isName(id) && id === storableText(id)
          ? eventId(id, incoming.header('ce_source'), incoming.header(chosenIdHeader) !== undefined)
          : positionId(incoming),
      topic: bounded(incoming.header('ce_type') ?? incoming.address),
      route: { kind: 'refused', error },
    });
  }
}

const maxBytes = 512;

/** Matches nearly every key; one byte per character. */
const plain = /^[\x20-\x7e]{0,512}$/;

/** Limits a foreign key to a size that an index accepts: a longer one is cut and ends in its digest. */
function bounded(text: string): string {
  if (plain.test(text)) return text;
  const storable = storableText(text);
  if (Buffer.byteLength(storable) <= maxBytes) return storable;
  // The cut may split a surrogate pair.
  return `${storableText(storable.slice(0, 100))}…${createHash('sha256').update(text).digest('hex')}`;
}

/** Where a message arrived. */
export function positionOf<Tx>({ incoming: { address, partition, offset } }: Arrived<Tx>): Position {
  return { address, partition, offset };
}

/** The message as events have it. */
export function keyedOf<Tx>(message: Arrived<Tx>): KeyedMessage {
  const { id, topic, key } = message;
  return { id, topic, key, ...positionOf(message) };
}
