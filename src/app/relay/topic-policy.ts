import type { Topic } from '../../core/topic.ts';
import type { TopicPolicy } from '../../store/lane/topics.ts';

/** A topic as the database stores it, so that every writer and every relay follows the same rules. */
export function policyOf({ name, rules }: Topic, transport: string): TopicPolicy {
  return {
    name,
    transport,
    address: rules.address,
    lanes: rules.lanes,
    timer: rules.timer,
    exhausted: rules.exhausted,
    retryMs: rules.retryMs,
    horizonMs: rules.horizonMs,
    visible: rules.visible,
    confirm: rules.confirm ?? null,
    rate: rules.rate ?? null,
    payloadLimitBytes: rules.payloadLimitBytes,
    delayLimitMs: rules.delayLimitMs,
  };
}
