import { OutboxError } from '../../core/errors.ts';
import type { Table } from '../../core/options/collections.ts';
import { optionTable } from '../../core/options/option-table.ts';
import { whole } from '../../core/options/values.ts';
import { givenUp } from '../given-up.ts';
import { partitionOf } from '../partitioning.ts';
import type {
  Hold,
  OutgoingBatch,
  OutgoingMessage,
  PublishOutcome,
  PublishResult,
  Transport,
} from '../transport.ts';
import { type MemoryFaults, PlannedFaults } from './memory-faults.ts';

/** A stored message. */
export interface MemoryRecord extends OutgoingMessage {
  /** Its partition, from 0. */
  readonly partition: number;
  /** Its position in the partition, from 0. */
  readonly offset: string;
}

/** Options of {@link memoryTransport}. */
export interface MemoryTransportOptions {
  /** Partitions of every address, at least 1. @defaultValue 4 */
  readonly partitions?: number;
}

const memoryOptions = optionTable('memoryTransport()', {
  partitions: whole(1, undefined, 4),
} satisfies Table<MemoryTransportOptions>);

/** A transport that keeps messages in memory, for your tests and those of this library. */
export interface MemoryTransport extends Transport {
  /** Injects faults. */
  readonly faults: MemoryFaults;
  /** All messages of the address, in the order in which they were stored. */
  records(address: string): readonly MemoryRecord[];
  /** The option `partitions`, for every address. */
  partitionCount(address: string): Promise<number>;
}

/**
 * A broker in the memory of this process: one log per address, with partitions and offsets like Kafka's.
 *
 * It follows every rule of {@link Transport} and uses no timers. Closing it keeps the records.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`.
 */
export function memoryTransport(options: MemoryTransportOptions = {}): MemoryTransport {
  const { partitions } = memoryOptions.read(options);
  return storingTransport(partitions, countingStore());
}

/** Stores a message in a partition of an address. @returns its offset */
export type StoreMessage = (address: string, message: OutgoingMessage, partition: number) => string;

/** A {@link memoryTransport} that stores messages, besides its own records, by `store`. */
export function storingTransport(partitions: number, store: StoreMessage): MemoryTransport {
  const faults = new PlannedFaults();
  const logs = new Map<string, MemoryLog>();
  const log = (address: string): MemoryLog => {
    const known = logs.get(address) ?? new MemoryLog(address, store);
    logs.set(address, known);
    return known;
  };
  return {
    name: 'memory',
    faults,
    records: (address) => log(address).records,
    publish: (batch) => publish(log(batch.address), faults, batch),
    async probe(address) {
      const hold = faults.currentHold ?? firstHold(faults, partitions);
      if (hold === undefined) return;
      throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', hold.reason, { details: { address } });
    },
    partitionCount: async () => partitions,
    async close() {},
  };
}

/** Only counts what is stored. */
function countingStore(): StoreMessage {
  const counts = new Map<string, number>();
  return (address, _message, partition) => {
    const name = `${address}/${partition}`;
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return String(count);
  };
}

class MemoryLog {
  readonly records: MemoryRecord[] = [];
  readonly #address: string;
  readonly #store: StoreMessage;

  constructor(address: string, store: StoreMessage) {
    this.#address = address;
    this.#store = store;
  }

  append(message: OutgoingMessage, partition: number): string {
    const offset = this.#store(this.#address, message, partition);
    this.records.push({ ...message, offset, partition });
    return offset;
  }
}

function firstHold(faults: PlannedFaults, partitions: number): Hold | undefined {
  for (let partition = 0; partition < partitions; partition += 1) {
    const hold = faults.holdOf(partition);
    if (hold !== undefined) return hold;
  }
  return undefined;
}

interface Indexed {
  readonly message: OutgoingMessage;
  readonly index: number;
}

async function publish(log: MemoryLog, faults: PlannedFaults, batch: OutgoingBatch): Promise<PublishResult> {
  const outcomes: PublishOutcome[] = Array.from(batch.messages, () => unsettled);
  const storing: Storing = { log, faults, batch, outcomes, lost: undefined };
  let hold: Hold | undefined;
  const groups = [...byPartition(batch)];
  for (const [partition, messages] of faults.reordered ? groups.toReversed() : groups) {
    // Lets another batch go first, as on a network.
    if (faults.reordered) await Promise.resolve();
    hold = storePartition(storing, partition, messages) ?? hold;
  }
  return hold === undefined ? { outcomes } : { outcomes, hold };
}

function byPartition({ messages, partitions }: OutgoingBatch): Map<number, Indexed[]> {
  const groups = new Map<number, Indexed[]>();
  for (const [index, message] of messages.entries()) {
    const partition = partitionOf(message.key ?? message.id, partitions);
    const group = groups.get(partition) ?? [];
    groups.set(partition, group);
    group.push({ message, index });
  }
  return groups;
}

interface Storing {
  readonly log: MemoryLog;
  readonly faults: PlannedFaults;
  readonly batch: OutgoingBatch;
  readonly outcomes: PublishOutcome[];
  /** Whether the answer is lost, which is asked when the first message is stored: a batch that stores nothing loses no answer. */
  lost: boolean | undefined;
}

function storePartition(storing: Storing, partition: number, messages: readonly Indexed[]): Hold | undefined {
  const { log, faults, batch, outcomes } = storing;
  const blockedKeys = new Set<string>();
  let began: Hold | undefined;
  for (const { message, index } of messages) {
    const hold = batch.signal.aborted ? givenUp : faults.holdOf(partition);
    const refusal = faults.refusalOf(message);
    if (message.key !== null && blockedKeys.has(message.key)) {
      outcomes[index] = { kind: 'blocked' };
    } else if (hold !== undefined) {
      outcomes[index] = { kind: 'deferred', onWire: false };
      began = hold;
    } else if (refusal !== undefined) {
      outcomes[index] = { kind: refusal, error: 'refused by a test' };
      if (message.key !== null) blockedKeys.add(message.key);
    } else {
      const offset = log.append(message, partition);
      storing.lost ??= faults.takeLostAnswer();
      outcomes[index] = storing.lost
        ? { kind: 'deferred', onWire: true }
        : { kind: 'acknowledged', offset, partition };
      if (storing.lost) began = answerLost;
    }
  }
  return began;
}

const unsettled: PublishOutcome = { kind: 'deferred', onWire: false };
const answerLost: Hold = { scope: 'transport', reason: 'the answer was lost by a test' };
