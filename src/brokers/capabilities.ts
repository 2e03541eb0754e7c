import type { LogReader } from '../core/delivery-log.ts';
import type { DoctorFinding } from '../core/diagnosis.ts';
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
   */
  create(address: string, partitions?: number): Promise<boolean>;
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

/** How far consumer groups are, read again at every call. Every call rejects if the broker cannot be reached. */
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
  /** It keeps how far consumer groups are, per partition. */
  readonly offsets?: BrokerOffsets;
  /** Its log can be read without affecting consumers, for `verify`. */
  readonly deliveryLog?: LogReader;
  /** Examines servers and addresses for `doctor`, in place of {@link Transport.probe}. Rejects if no server answers. */
  examine?(asked: Examined): Promise<readonly DoctorFinding[]>;
  /** Judges what the server keeps of acknowledged messages when it fails, for `doctor`. */
  durability?(): Promise<readonly DoctorFinding[]>;
}

/** What receipts of consumers need of the broker that they arrive at. */
export type ReceiptBroker = Required<Pick<Capabilities, 'source' | 'topics' | 'offsets'>>;

const neededByReceipts = ['source', 'topics', 'offsets'] as const;

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
