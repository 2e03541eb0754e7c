import type { MemoryMessage } from '../brokers/memory/memory-log.ts';
import {
  type MemorySource,
  type MemorySourceOptions,
  memoryOptions,
  memorySource,
} from '../brokers/memory/memory-source.ts';
import { type MemoryTransport, storingTransport } from '../brokers/memory/memory-transport.ts';
import { partitionOf } from '../brokers/partitioning.ts';
import type { IncomingMessage } from '../brokers/source.ts';

/** Both ends of a broker in memory: what a relay sends by it, consumers receive. */
export interface MemoryBroker extends MemoryTransport {
  /** The source of what is sent; consumers of a configuration that has this transport take it by themselves. */
  source(): MemorySource;
  /**
   * Appends messages as another sender would: a message that arrives twice, one without a header, one that is no JSON.
   * Those of a key go to the partition where the transport puts them. They are not among the {@link MemoryTransport.records}.
   *
   * @returns the messages with partition and offset
   * @throws RangeError for a partition that does not exist
   */
  append(address: string, ...messages: readonly MemoryMessage[]): readonly IncomingMessage[];
  /** Delivers all messages of an address to a group again, as after an offset reset of a Kafka group. */
  rewind(group: string, address: string): void;
}

/**
 * A broker in the memory of this process, for tests of senders and consumers together: a {@link memoryTransport} and a
 * {@link memorySource} with the same addresses, partitions and offsets.
 *
 * Faults of the transport, such as a lost answer, have the effect on consumers that they have with a real broker. Give the
 * same object to the configurations of relay and consumer, which must run in the process of the test.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 * @example
 * const broker = memoryBroker();
 * const config = { ...outboxConfig, transports: { kafka: broker } };
 * const relay = startRelay(config);
 * const consuming = await consumer(prisma, { config, group: 'orders' }).on(orderPlaced, handler).start();
 */
export function memoryBroker(options: MemorySourceOptions = {}): MemoryBroker {
  const { partitions } = memoryOptions('memoryBroker()').read(options);
  const arriving = memorySource(options);
  const assigned = (message: MemoryMessage): MemoryMessage =>
    typeof message.key === 'string'
      ? { partition: partitionOf(message.key, partitions), ...message }
      : message;
  const append: MemorySource['append'] = (address, ...messages) =>
    arriving.append(address, ...messages.map(assigned));
  const transport = storingTransport(partitions, (address, { headers, key, payload }, partition) => {
    const [stored] = arriving.append(address, { body: payload, headers, key, partition });
    return stored?.offset ?? '';
  });
  const rewind = (group: string, address: string): void => arriving.rewind(group, address);
  const rewindGroup: MemorySource['rewindGroup'] = (how) => arriving.rewindGroup(how);
  return { ...transport, source: () => ({ ...arriving, append }), append, rewind, rewindGroup };
}
