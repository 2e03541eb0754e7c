import type { LogReader } from '../core/delivery-log.ts';
import type { DoctorFinding } from '../core/diagnosis.ts';
import { OutboxError } from '../core/errors.ts';
import type { Rewinding, RewoundPartition } from '../core/rewinding.ts';
import type { Source } from './source.ts';

/** The addresses of a broker, such as Kafka's topics. Every call throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`. */
export interface BrokerTopics {
  /** Those of these addresses that the broker does not have, or does not show. */
  missing(addresses: readonly string[]): Promise<readonly string[]>;
  /**
   * Creates an address with the broker's defaults; an existing one is left as it is.
   *
   * @param partitions by default as many as the broker's default
   * @returns whether it was created now
   * @throws OutboxError `OUTBOX_PRIVILEGE_MISSING` if this client may not create it, `OUTBOX_ADDRESS_UNFIT` if it exists with
   * properties that the configuration rules out, `OUTBOX_CONFIG_MISSING` if the transport lacks a setting for it
   */
  create(address: string, partitions?: number): Promise<boolean>;
}

/**
 * What consumer groups must have at a broker, such as queues. Calls name what is concerned in words, such as
 * `the queue orders.billing`, and throw as those of {@link BrokerTopics}; also `OUTBOX_ADDRESS_MISSING` for an address that
 * does not exist.
 */
export interface BrokerGroups {
  /** What a group lacks to receive from these addresses; empty: nothing. */
  missing(group: string, addresses: readonly string[]): Promise<readonly string[]>;
  /** Creates what a group lacks; what exists is left as it is. @returns what was created now */
  create(group: string, addresses: readonly string[]): Promise<readonly string[]>;
  /** Judges what it keeps of acknowledged messages for a group when it fails, for `doctor`. Absent if that is the same for all. */
  durability?(group: string, addresses: readonly string[]): Promise<readonly DoctorFinding[]>;
  /** Looks at the groups of an address, and removes what nobody uses. Absent if the broker forgets them by itself, or has other tools. */
  tidy?(address: string, how: Tidying): Promise<readonly TidiedGroup[]>;
}

/** Which groups {@link BrokerGroups.tidy} looks at, and what it does. */
export interface Tidying {
  /** Names of the groups. @defaultValue all of the address */
  readonly groups?: readonly string[] | undefined;
  /** Consumers that have asked for nothing for so long count as gone, in milliseconds. */
  readonly unusedForMs: number;
  /**
   * `look`: changes nothing. `remove`: removes unused groups, and in others the consumers that are gone and have no open
   * message. `force`: removes the groups whatever they hold and whoever uses them.
   */
  readonly act: 'look' | 'remove' | 'force';
}

/** A group of an address as it was found, or removed. */
export interface TidiedGroup {
  /** Its name. */
  readonly group: string;
  /**
   * `in-use`: a consumer asks for messages. `open`: nobody does, and messages that were delivered are not acknowledged.
   * `new`: it never had a consumer. `unused`: none of these. `removed`: it is gone now; `gone`: another program removed it.
   */
  readonly verdict: 'in-use' | 'open' | 'new' | 'unused' | 'removed' | 'gone';
  /** Number of messages that were delivered and not acknowledged. */
  readonly open: number;
  /** Number of consumers that it knew. */
  readonly consumers: number;
  /** How many of these are gone without an open message: `remove` removes them. */
  readonly goneConsumers: number;
  /** Milliseconds since a consumer last asked for messages; `null`: none ever did. */
  readonly quietMs: number | null;
}

/** Those of the addresses that a probe does not find. @throws any other error of a probe */
export async function missingAmong(
  addresses: readonly string[],
  probe: (address: string) => Promise<void>,
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const address of addresses)
    await probe(address).catch((error: unknown) => {
      if (!(error instanceof OutboxError) || error.code !== 'OUTBOX_ADDRESS_MISSING') throw error;
      missing.push(address);
    });
  return missing;
}

/** The lag of a consumer group at an address. */
export interface CommittedLag {
  /** Name of the consumer group. */
  readonly group: string;
  /** Where its messages arrive. */
  readonly address: string;
  /** Number of messages that the group has not acknowledged; at most a second of work too high. */
  readonly messages: number;
}

/**
 * How far consumer groups are, read again at every call. Every call rejects if the broker cannot be reached.
 *
 * Offsets are whole numbers that grow with the messages of a partition. They may be others than those that a publish returns if
 * that returns no partition: then receipts compare only these with each other.
 */
export interface BrokerOffsets {
  /** By partition, the first offset that the group has not committed; without partitions where it has committed none. */
  committed(group: string, address: string): Promise<ReadonlyMap<number, string>>;
  /** By partition, the offset of the next message; without partitions that hold none. */
  ends(address: string): Promise<ReadonlyMap<number, string>>;
  /** The lags of groups at each address where they have committed an offset. */
  lags(groups: readonly string[], addresses: readonly string[]): Promise<readonly CommittedLag[]>;
}

/** An address that a configuration uses. */
export interface UsedAddress {
  /** Where the transport sends. */
  readonly address: string;
  /** The topic of the configuration that is sent there; of several, that with the largest payloads. */
  readonly topic: string;
  /** The largest payload that may be sent there, in bytes. */
  readonly payloadBytes: number;
  /** Number of partitions by which relays place keys; `null`: none is pinned yet. */
  readonly pinned: number | null;
}

/** What a broker is examined for. */
export interface Examined {
  /** Name of the transport in the configuration, for the check that the servers answer. */
  readonly name: string;
  /** Each address once. */
  readonly addresses: readonly UsedAddress[];
  /** Where receipts arrive, if a topic asks for them. */
  readonly receipts: string | undefined;
}

/** What a broker can do besides taking messages. A member that is absent says that it cannot. */
export interface Capabilities {
  /** Consumers receive from the same servers: makes a source, which shares the options, not the connections. */
  source?(): Source;
  /** Addresses can be looked up and created. */
  readonly topics?: BrokerTopics;
  /** What consumer groups must have can be looked up and created. */
  readonly groups?: BrokerGroups;
  /** It keeps how far consumer groups are, per partition. */
  readonly offsets?: BrokerOffsets;
  /** Why it has no offsets, as a clause for errors, such as `a list keeps nothing of what was acknowledged`. */
  readonly withoutOffsets?: string;
  /**
   * Sets a group back to a time, never forward; it has to be without members. Partitions where it has committed no offset are left as
   * they are, and not answered.
   *
   * @throws OutboxError `OUTBOX_GROUP_IN_USE`, `OUTBOX_SERVER_UNAVAILABLE`
   */
  rewindGroup?(how: Rewinding): Promise<readonly RewoundPartition[]>;
  /** Its log can be read without affecting consumers, for `verify`. */
  readonly deliveryLog?: LogReader;
  /** Examines servers and addresses for `doctor`, in place of {@link Transport.probe}. Rejects if no server answers. */
  examine?(asked: Examined): Promise<readonly DoctorFinding[]>;
  /** Judges what the server keeps of acknowledged messages when it fails, for `doctor`. */
  durability?(): Promise<readonly DoctorFinding[]>;
}

/** What receipts of consumers need of the broker that they arrive at. Without `topics` it makes an address with its first message. */
export type ReceiptBroker = Required<Pick<Capabilities, 'source' | 'offsets'>>;

const neededByReceipts = ['source', 'offsets'] as const;

/** Whether receipts can arrive over this broker. */
export function canReceiveReceipts<Broker extends Capabilities>(
  broker: Broker,
): broker is Broker & ReceiptBroker {
  return lackedByReceipts(broker).length === 0;
}

/** The capabilities that receipts need and this broker lacks. */
export function lackedByReceipts(broker: Capabilities): readonly (keyof ReceiptBroker)[] {
  return neededByReceipts.filter((capability) => broker[capability] === undefined);
}
