import type { Transport } from '../brokers/transport.ts';
import type { TopicRules } from '../core/topic.ts';

/** A topic as this relay delivers it. */
export interface TopicRoute {
  readonly name: string;
  readonly rules: TopicRules;
  readonly transport: Transport;
}
