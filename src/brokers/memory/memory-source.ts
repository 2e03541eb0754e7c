import { OutboxError } from '../../core/errors.ts';
import type { Table } from '../../core/options/collections.ts';
import { optionTable } from '../../core/options/option-table.ts';
import { whole } from '../../core/options/values.ts';
import type { Rewinding, RewoundPartition } from '../../core/rewinding.ts';
import type { IncomingMessage, Source } from '../source.ts';
import { MemoryGroup, MemoryMember } from './memory-group.ts';
import { MemoryLog, type MemoryMessage } from './memory-log.ts';

/** Options of {@link memorySource}. */
export interface MemorySourceOptions {
  /** Partitions of every address, at least 1. @defaultValue 4 */
  readonly partitions?: number;
  /**
   * The result of {@link Source.redeliveryPeriodMs}, in milliseconds. It has no other effect: messages are kept as long as
   * the source exists. @defaultValue 7 days, as with Kafka
   */
  readonly retentionMs?: number;
}

/** The options of a function that makes such a source. */
export const memoryOptions = (maker: string) =>
  optionTable(maker, {
    partitions: whole(1, undefined, 4),
    retentionMs: whole(0, undefined, 7 * 24 * 3_600_000),
  } satisfies Table<MemorySourceOptions>);

/** A source that is its own broker, for your tests and those of this library. */
export interface MemorySource extends Source {
  /**
   * Appends messages in this order.
   *
   * @returns the messages with partition and offset
   * @throws RangeError for a partition that does not exist
   */
  append(address: string, ...messages: readonly MemoryMessage[]): readonly IncomingMessage[];
  /** Delivers all messages of an address to a group again, as after an offset reset of a Kafka group. */
  rewind(group: string, address: string): void;
  /** Sets a group back to a time, as an operator does at a real broker. Rejects with `OUTBOX_GROUP_IN_USE` while it has members. */
  rewindGroup(how: Rewinding): Promise<readonly RewoundPartition[]>;
}

/**
 * A broker in the memory of this process: addresses with partitions, and groups whose members share them.
 *
 * It follows every rule of {@link Source}, needs no server, and is never disconnected. Every address exists. The members of
 * a group are its subscriptions to the same source.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function memorySource(options: MemorySourceOptions = {}): MemorySource {
  const { partitions, retentionMs } = memoryOptions('memorySource()').read(options);
  const logs = new Map<string, MemoryLog>();
  const groups = new Map<string, MemoryGroup>();
  const logOf = (address: string): MemoryLog =>
    known(logs, address, () => new MemoryLog(address, partitions));
  return {
    name: 'memory',
    redeliveryPeriodMs: async () => retentionMs,
    async subscribe(subscription) {
      const group = known(groups, subscription.group, () => new MemoryGroup());
      const member = new MemoryMember(subscription);
      group.join(member, logOf);
      return {
        lag: async () => group.lag(subscription.addresses),
        stop: () => group.leave(member),
      };
    },
    append(address, ...messages) {
      const log = logOf(address);
      const appended = messages.map((message) => log.append(message));
      for (const group of groups.values()) group.look();
      return appended;
    },
    rewind: (group, address) => groups.get(group)?.rewind(address),
    async rewindGroup(how) {
      const group = groups.get(how.group);
      if (group === undefined) return [];
      if (group.members > 0)
        throw new OutboxError(
          'OUTBOX_GROUP_IN_USE',
          `The group "${how.group}" has ${group.members} members in this process.`,
          { details: { group: how.group, members: group.members } },
        );
      return group.rewindTo(how);
    },
  };
}

function known<Value>(values: Map<string, Value>, name: string, make: () => Value): Value {
  const value = values.get(name) ?? make();
  values.set(name, value);
  return value;
}
