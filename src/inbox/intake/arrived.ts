import { createHash } from 'node:crypto';
import { OutboxError } from '../../core/errors.ts';
import type { IncomingMessage } from '../../sources/source.ts';
import { storableText } from '../../store/inbox/park.ts';
import { isName } from '../once.ts';
import { positionId } from '../reading/message-id.ts';
import { refusalReasonOf } from '../reading/unreadable.ts';
import type { Route } from '../route.ts';
import type { RouteTable } from '../route-table.ts';

/** Where a message goes: to its handler, or to a person, because it has none. */
export type Way<Tx> = Route<Tx> | { readonly kind: 'refused'; readonly error: OutboxError };

/** A message of which is known what the group calls it. */
export class Arrived<Tx> {
  readonly incoming: IncomingMessage;
  /** Its id, or its place where it has none. */
  readonly id: string;
  readonly topic: string;
  readonly way: Way<Tx>;
  #key: string | null | undefined;

  constructor(incoming: IncomingMessage, { id, topic, way }: Pick<Arrived<Tx>, 'id' | 'topic' | 'way'>) {
    this.incoming = incoming;
    this.id = id;
    this.topic = topic;
    this.way = way;
  }

  /** Messages of one topic and key queue behind each other. Read when it is asked for, which a duplicate's is not. */
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

/** Looks at address and headers only, so that duplicates cost no reading of their bodies. */
export function identify<Tx>(incoming: IncomingMessage, routes: RouteTable<Tx>): Arrived<Tx> | Ignored {
  try {
    const route = routes.find(incoming);
    if (typeof route === 'string') return { incoming, ignored: route };
    return new Arrived(incoming, { id: route.idOf(incoming), topic: route.topic.name, way: route });
  } catch (error) {
    const reason = refusalReasonOf(error);
    if (reason === undefined || !(error instanceof OutboxError)) throw error;
    // An id that is there tells a repeat from a second message even of an unknown topic.
    const id = reason === 'no-id' ? undefined : incoming.header('ce_id');
    return new Arrived<Tx>(incoming, {
      id: isName(id) && id === storableText(id) ? id : positionId(incoming),
      topic: bounded(incoming.header('ce_type') ?? incoming.address),
      way: { kind: 'refused', error },
    });
  }
}

const maxBytes = 512;

/** Nearly every key; each of its characters is a byte. */
const plain = /^[\x20-\x7e]{0,512}$/;

/** A text that can be part of an index, which the keys of strangers need not be: a longer one ends in its digest. */
function bounded(text: string): string {
  if (plain.test(text)) return text;
  const storable = storableText(text);
  if (Buffer.byteLength(storable) <= maxBytes) return storable;
  // The cut may part a pair of surrogates.
  return `${storableText(storable.slice(0, 100))}…${createHash('sha256').update(text).digest('hex')}`;
}
