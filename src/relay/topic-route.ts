import type { TopicRules } from '../core/topic.ts';
import type { Transport } from '../transports/transport.ts';

/** A topic as this relay delivers it. */
export interface TopicRoute {
  readonly name: string;
  readonly rules: TopicRules;
  readonly transport: Transport;
}
