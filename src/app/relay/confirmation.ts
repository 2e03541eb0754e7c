import { canReceiveReceipts, lackedByReceipts, type ReceiptBroker } from '../../brokers/capabilities.ts';
import type { Transport } from '../../brokers/transport.ts';
import { type Config, transportOf } from '../../config/config.ts';
import { OutboxError } from '../../core/errors.ts';
import { receiptsAddress } from '../../core/receipt.ts';
import { rest } from '../../core/rest.ts';
import type { ConfirmingTopic } from '../../relay/overdue.ts';
import { OffsetsBehindReceipts } from '../../relay/overdue-offsets.ts';
import { ReceiptIntake, type ReceiptIntakeInput } from '../../relay/receipts.ts';
import { shownBefore } from '../../store/message/confirm-overdue.ts';
import { ReceiptReader } from './receipt-reader.ts';

/** How long a start waits for an answer of a broker before it continues without one. */
const askWithinMs = 5_000;
/** Partitions of the topic of receipts, if this library creates it. The receipts of one group use one partition. */
const receiptPartitions = 3;
/** The group of the relays of an installation, which share the receipts. */
const groupOf = (installation: string): string => `outbox-receipts-${installation}`;

/** A transport over which receipts can arrive. */
type ReceiptTransport = Transport & ReceiptBroker;

/** The receipts of a relay. */
export interface Confirmation {
  /** Topics whose receipts the relay awaits. */
  readonly topics: readonly ConfirmingTopic[];
  /** Begins to read receipts, and continues until stopped, whatever the brokers do. */
  start(): void;
  /** Applies the receipts in progress, then leaves the group. */
  stop(): Promise<void>;
}

/**
 * Checks that receipts can arrive for every topic that asks for them. A broker that does not answer is no error: its lanes
 * and its receipts wait for it.
 *
 * @throws OutboxError `OUTBOX_SOURCE_UNKNOWN` if a topic asks for receipts over a transport that cannot receive them,
 * `OUTBOX_RECEIPTS_MISSING` if a broker answers that it has no topic for them
 */
export async function requireReceiptTopics(config: Config): Promise<void> {
  await Promise.all([...askingTopics(config).keys()].map(requireReceipts));
}

/** What a relay does for topics that ask for receipts; does nothing if none does. */
export function confirmationOf(config: Config, input: ReceiptIntakeInput): Confirmation {
  const asking = askingTopics(config);
  const group = groupOf(input.installation);
  const intake = new ReceiptIntake(input);
  const readers = [...asking.keys()].map(
    (transport) => new ReceiptReader({ source: transport.source(), group, intake, report: input.report }),
  );
  return {
    topics: [...asking].flatMap(([transport, topics]) => {
      const receiptLog = { group, address: receiptsAddress };
      const offsets = new OffsetsBehindReceipts(transport.offsets, receiptLog, () =>
        shownBefore(input.database),
      );
      return topics.map((topic) => ({ ...topic, offsets }));
    }),
    start: () => {
      for (const reader of readers) reader.start();
    },
    stop: async () => {
      await Promise.all(readers.map((reader) => reader.stop()));
    },
  };
}

/**
 * Creates the topic of receipts at every broker whose topics ask for them, and what the group of the relays needs there, so that no
 * receipt comes before it; what exists is left as it is.
 *
 * @returns at how many something was created, and how many there are
 * @throws OutboxError `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function createReceiptTopics(
  config: Config,
  installation: string,
): Promise<{ made: number; wanted: number }> {
  const transports = [...askingTopics(config).keys()];
  const made = await Promise.all(
    transports.map(async ({ groups, topics }) => {
      const topic = (await topics?.create(receiptsAddress, receiptPartitions)) ?? false;
      const created = (await groups?.create(groupOf(installation), [receiptsAddress])) ?? [];
      return topic || created.length > 0;
    }),
  );
  return { made: made.filter(Boolean).length, wanted: transports.length };
}

/** Topics that ask for receipts, by broker. */
function askingTopics(
  config: Config,
): ReadonlyMap<ReceiptTransport, readonly Omit<ConfirmingTopic, 'offsets'>[]> {
  const asking = new Map<ReceiptTransport, Omit<ConfirmingTopic, 'offsets'>[]>();
  for (const topic of config.topics) {
    const { confirm, address, visible } = topic.rules;
    if (confirm === undefined) continue;
    const { name: transportName, transport } = transportOf(config, topic);
    if (!canReceiveReceipts(transport)) {
      const lacks = lackedByReceipts(transport);
      const why = transport.withoutOffsets === undefined ? '' : `: ${transport.withoutOffsets}`;
      throw new OutboxError(
        'OUTBOX_SOURCE_UNKNOWN',
        `The topic "${topic.name}" asks for receipts, but its transport "${transportName}" (${transport.name}) cannot receive them: it lacks ${lacks.join(', ')}${why}.`,
        { details: { topic: topic.name, transport: transportName, lacks } },
      );
    }
    const asks = { name: topic.name, address, confirm, visible, transport: transport.name };
    asking.set(transport, [...(asking.get(transport) ?? []), asks]);
  }
  return asking;
}

async function requireReceipts({ endpoint = '', name, topics }: ReceiptTransport): Promise<void> {
  const late = new AbortController();
  const missing = await Promise.race([
    topics?.missing([receiptsAddress]).catch(() => []) ?? [],
    rest(askWithinMs, late.signal).then(() => []),
  ]);
  late.abort();
  if (missing.length === 0) return;
  throw new OutboxError(
    'OUTBOX_RECEIPTS_MISSING',
    `A topic asks for receipts, but ${name} at ${endpoint} has no topic "${receiptsAddress}" for them.`,
    { details: { transport: name, endpoint, address: receiptsAddress } },
  );
}
