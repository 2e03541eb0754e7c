import type { OutgoingMessage, Transport } from '../brokers/transport.ts';

/** A message as the broker really holds it. */
export interface DeliveredMessage extends OutgoingMessage {
  /** Where it lies; `null` where the transport has no such thing. */
  readonly partition: number | null;
  /** Its position in the partition; `null` as `partition`. */
  readonly offset: string | null;
}

/**
 * Faults that the suite injects. Each one that is given adds cases; leave out what the broker cannot do.
 *
 * Every fault lasts until {@link ContractFaults.heal}.
 */
export interface ContractFaults {
  /** Ends every fault; resolves when the transport can deliver again. */
  heal(): Promise<void>;
  /** Turns a message into one that the broker refuses, for now or forever. */
  readonly refused?: (message: OutgoingMessage) => OutgoingMessage;
  /** Makes the address unreachable before anything is sent. */
  readonly hold?: () => Promise<void>;
  /** Lets batches be stored and loses the answers. */
  readonly loseAnswers?: () => Promise<void>;
  /** Makes one partition unreachable while the others are not. */
  readonly failPartition?: (partition: number) => Promise<void>;
  /** Delays traffic so that what can overtake does overtake. */
  readonly reorder?: () => Promise<void>;
}

/** What one case of the suite runs on: a transport and an address that nobody else uses. */
export interface TransportSubject {
  /** The transport under test; the suite closes it. */
  readonly transport: Transport;
  /** Where messages are sent: empty, and nobody else's. */
  readonly address: string;
  /** Pinned number of partitions; 1 where the transport has none. */
  readonly partitions: number;
  /** Everything that the address holds now, in order of arrival within each partition. */
  read(): Promise<readonly DeliveredMessage[]>;
  /** Faults that the suite may inject. @defaultValue none, so no case needs one */
  readonly faults?: ContractFaults;
  /** Releases what was opened. The suite has closed the transport by then. */
  dispose(): Promise<void>;
}

/** One rule of the port, ready to run. */
export interface ContractCase {
  /** A sentence that is true of a correct transport. */
  readonly name: string;
  /** Resolves when the rule holds; rejects with an `AssertionError` when it does not. */
  readonly run: () => Promise<void>;
}
