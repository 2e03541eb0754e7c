import type { TopicChange } from '../store/lane/lanes-change.ts';

/** The command that completes a change. Whoever runs it must know which groups read the topic: without them, partitions do not wait. */
export function completingCommand({
  kind,
  topic,
  wanted,
}: Pick<TopicChange, 'kind' | 'topic' | 'wanted'>): string {
  return `temporal-outbox ${kind} ${topic} ${wanted}${kind === 'partitions' ? ' --group <groups>' : ''}`;
}
