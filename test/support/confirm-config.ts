import { z } from 'zod';
import type { RelayConfig } from '../../src/config/config.ts';
import { type Confirm, type Topic, topic } from '../../src/core/topic.ts';
import { kafka } from '../../src/transports/kafka/kafka-transport.ts';
import type { Numbered } from './inbox-stage.ts';

/** A topic of numbered messages that asks for receipts. */
export function confirmingTopic(address: string, confirm: Confirm): Topic<Numbered> {
  return topic(address, z.object({ n: z.number() }), { confirm });
}

/** A configuration for real servers, whose relay looks for overdue messages ten times a second. */
export function confirmConfig(
  url: string,
  temporal: string,
  brokers: string,
  only: Topic<Numbered>,
): RelayConfig {
  return {
    database: { url },
    temporal: { address: temporal },
    topics: [only],
    transports: { kafka: kafka({ brokers }) },
    relay: { check: '100ms' },
  };
}
