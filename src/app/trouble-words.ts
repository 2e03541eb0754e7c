import type { Partition } from '../brokers/source.ts';
import { counted } from '../core/diagnosis.ts';
import type { ConsumerEvent, Position } from '../inbox/consumer-event.ts';
import type { RelayEvent } from '../relay/report.ts';

const relayTroubles = [
  'alert-began',
  'alert-untold',
  'archive-behind',
  'attempt-failed',
  'database-away',
  'error',
  'expired',
  'failed',
  'hold-began',
  'lane-lost',
  'messages-unconfirmed',
  'receipt-unreadable',
  'temporal-away',
  'topic-waiting',
  'waiting-for-server',
] as const satisfies readonly RelayEvent['type'][];

/** Events that are no trouble, or whose trouble another event reports. */
const consumerNews = [
  'assigned',
  'bulk-ended',
  'duplicate',
  'handled',
  'ignored',
] as const satisfies readonly ConsumerEvent['type'][];

type RelayTrouble = Extract<RelayEvent, { readonly type: (typeof relayTroubles)[number] }>;
type ConsumerTrouble = Exclude<ConsumerEvent, { readonly type: (typeof consumerNews)[number] }>;
/** An event that becomes a line. */
export type Told = RelayTrouble | ConsumerTrouble;

export function isRelayTrouble(event: RelayEvent): event is RelayTrouble {
  return (relayTroubles as readonly string[]).includes(event.type);
}

export function isConsumerTrouble(event: ConsumerEvent): event is ConsumerTrouble {
  return !(consumerNews as readonly string[]).includes(event.type);
}

/** What happened, in a sentence that needs no other facts. */
export function inWords(event: Told): string {
  switch (event.type) {
    case 'alert-began':
      return `alert ${event.rule}: ${event.text}`;
    case 'alert-untold':
      return `alerts could not be told by ${event.destination}`;
    case 'archive-behind':
      return `the archive does not keep up: it moved ${counted(event.count, 'message')}, and more wait`;
    case 'waiting-for-server':
      return `waits for ${event.server}${'address' in event ? ` at ${event.address}` : ''}${meanwhile(event)}`;
    case 'temporal-away':
      return 'delivers without Temporal until it is back';
    case 'database-away':
      return 'delivers nothing until PostgreSQL is back';
    case 'error':
      return `${event.during} failed`;
    case 'lane-lost':
      return `lane ${event.topic}/${event.lane} is lost: another owner may have it`;
    case 'hold-began':
      return `lane ${event.topic}/${event.lane} waits: ${event.hold.reason}`;
    case 'attempt-failed':
      return `try ${event.attempt} of ${messageOf(event)} failed`;
    case 'expired':
      return expiredInWords(event);
    case 'failed':
      return `${messageOf(event)} has failed for good`;
    case 'messages-unconfirmed':
      return `${counted(event.count, 'message')} of ${event.topic} failed: no receipt of the group came`;
    case 'receipt-unreadable':
      return `a receipt could not be read: ${event.reason}`;
    case 'topic-waiting':
      return `topic ${event.topic} is not delivered yet: it waits for ${[event.waitingFor, ...event.who].join(', ')}`;
    default:
      return ofConsumer(event);
  }
}

function expiredInWords(event: Extract<Told, { readonly type: 'expired' }>): string {
  if ('maybePublished' in event && event.maybePublished)
    return `${messageOf(event)} has expired; an earlier try may have published it`;
  return `${messageOf(event)} has expired, and is not ${'lane' in event ? 'sent' : 'handled'}`;
}

/** Without a default: the type of the events says whether each has words. */
function ofConsumer(event: Exclude<ConsumerTrouble, { readonly type: RelayTrouble['type'] }>): string {
  switch (event.type) {
    case 'address-paused':
      return `pauses ${event.address}: ${event.failedKeys} of ${counted(event.keys, 'key')} fail`;
    case 'address-resumed':
      return `receives from ${event.address} again, which was paused since ${event.since.toISOString()}`;
    case 'bulk-failing':
      return 'a page of a bulk operation failed';
    case 'connection-resumed':
      return `receives from ${event.server} again, which was away since ${event.since.toISOString()}`;
    case 'dead-letters-failing':
      return 'copies of failed messages could not be sent to the address of dead letters';
    case 'deliveries-limited':
      return `the broker gives up messages of ${event.address} after some deliveries`;
    case 'disconnected':
      return `receives nothing from ${event.server}, and connects again`;
    case 'messages-lost':
      return `the broker has deleted messages of ${placeOf(event)} that were not read`;
    case 'parked':
      return `${messageOf(event)} is parked`;
    case 'parked-failing':
      return 'parked messages could not be tried';
    case 'partition-paused':
      return `${placeOf(event)} waits at offset ${event.offset}, after try ${event.attempt}`;
    case 'partition-resumed':
      return `${placeOf(event)} goes on after offset ${event.offset}`;
    case 'partitions-unread':
      return `nobody reads some partitions of ${event.addresses.join(', ')}`;
    case 'pool-small':
      return `the pool has ${event.connections} connections, and ${event.needed} may be needed at once`;
    case 'promise-missing':
      return `the handler of ${event.topic} returned no promise`;
    case 'receipts-unsent':
      return `${counted(event.waiting, 'receipt')} could not be sent`;
    case 'window-failing':
      return 'expired processed ids could not be dropped';
    case 'workflows-failing':
      return 'Temporal runs no workflows, parked messages are tried by the consumers themselves';
    case 'workflows-resumed':
      return `Temporal runs workflows again, which it did not since ${event.since.toISOString()}`;
  }
}

/** A relay that waits for Temporal delivers all the same. */
function meanwhile({ server }: { readonly server: string }): string {
  return server === 'Temporal' ? ', and delivers without it meanwhile' : '';
}

/** Of a try of several messages only the position is known, of a message that killed its consumer only the id. */
function messageOf(event: { readonly id?: string; readonly topic?: string } | Position): string {
  if ('id' in event && event.id !== undefined)
    return `message ${event.id}${event.topic === undefined ? '' : ` of ${event.topic}`}`;
  return 'offset' in event ? `offset ${event.offset} of ${placeOf(event)}` : 'a message';
}

function placeOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
