import { OutboxError } from '../../core/errors.ts';
import type { BegunTry } from '../../store/inbox/tries.ts';
import type { IdentifiedMessage, KeyedMessage, Position } from '../consumer-event.ts';
import { Arrived, identify } from '../handling/arrived.ts';
import { arrivedAgain } from '../handling/kept.ts';
import { isExpired } from '../reading/expiry.ts';
import type { ReadyMessage, Route, TransactionInHand } from '../route.ts';
import type { RouteTable } from '../route-table.ts';

/** A parked message with its handler, and where its receipts go. */
export interface FoundMessage<Tx> {
  readonly arrived: Arrived<Tx>;
  readonly routes: RouteTable<Tx>;
  /** Its handler is not called. */
  readonly expired: boolean;
}

/** A try that has begun, of one message or many. */
export interface Begun<Tx> {
  readonly keyId: string;
  readonly messages: readonly [BegunTry, ...BegunTry[]];
  /** In the order of the messages. */
  readonly found: readonly (FoundMessage<Tx> | undefined)[];
}

/** A parked message that can be handled. */
export interface ReadyTry<Tx> {
  readonly route: Route<Tx>;
  readonly ready: ReadyMessage<Tx>;
}

/** Finds the handler of a parked message, whose source is not stored. */
export function findParked<Tx>(
  message: BegunTry,
  all: readonly RouteTable<Tx>[],
): FoundMessage<Tx> | undefined {
  const incoming = arrivedAgain(message);
  for (const routes of all) {
    const arrived = identify(incoming, routes);
    // The stored id wins: an edited message has a new one, while its headers still have the old one.
    if ('id' in arrived && arrived.route.kind === 'route')
      return {
        arrived: new Arrived(incoming, { id: message.id, topic: arrived.topic, route: arrived.route }),
        routes,
        expired: isExpired(incoming),
      };
  }
  const [routes] = all;
  if (routes === undefined) return undefined;
  const arrived = identify(incoming, routes);
  return 'id' in arrived ? { arrived, routes, expired: false } : undefined;
}

/** The message as events have it. Its key is known where it can be read. */
export function keptAs<Tx>(
  { id, topic, address, partition, offset }: BegunTry,
  found: FoundMessage<Tx> | undefined,
): IdentifiedMessage & Partial<KeyedMessage> {
  return { id, topic, ...(found !== undefined && { key: found.arrived.key }), address, partition, offset };
}

/** What was tried: of several messages only the position of the first one. */
export function triedOf<Tx>({ found, messages }: Begun<Tx>): Position & Partial<KeyedMessage> {
  const [first, second] = messages;
  if (second === undefined) return keptAs(first, found[0]);
  const { address, partition, offset } = first;
  return { address, partition, offset };
}

/** @throws OutboxError `OUTBOX_HANDLER_MISSING`, `OUTBOX_MESSAGE_UNREADABLE` */
export async function readParked<Tx>(
  { topic }: BegunTry,
  found: FoundMessage<Tx> | undefined,
  attempt: number,
): Promise<ReadyTry<Tx>> {
  if (found === undefined) throw noHandler(topic);
  const { incoming, route } = found.arrived;
  if (route.kind === 'refused') throw route.error;
  return { route, ready: await route.read(incoming, attempt) };
}

/** Calls the handlers, in the order of the messages. */
export async function callHandlers<Tx>(
  tx: Tx,
  tries: readonly ReadyTry<Tx>[],
  context: TransactionInHand,
): Promise<void> {
  const [first] = tries;
  if (first?.route.batch === true && tries.every(({ route }) => route === first.route)) {
    await first.route.handleAll(
      tx,
      tries.map(({ ready }) => ready),
      context,
    );
    return;
  }
  for (const { ready } of tries) await ready.handle(tx, context);
}

/** The handler is another consumer's, or not deployed yet. */
function noHandler(topic: string): OutboxError {
  return new OutboxError('OUTBOX_HANDLER_MISSING', `This consumer has no handler for the topic "${topic}".`, {
    details: { topic },
  });
}
