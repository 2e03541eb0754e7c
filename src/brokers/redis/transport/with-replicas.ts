import type { PublishOutcome } from '../../transport.ts';
import type { RedisClient } from '../client/open-client.ts';
import type { ChunkAnswer } from './publish-chunks.ts';
import type { ReplicaRules } from './redis-options.ts';

/**
 * Sends messages, and acknowledges them only when enough replicas have stored them.
 *
 * WAIT is pipelined with the command, so it covers exactly that command and costs no extra round trip.
 */
export async function withReplicas(
  client: RedisClient,
  rules: ReplicaRules | undefined,
  send: () => Promise<ChunkAnswer>,
): Promise<ChunkAnswer> {
  if (rules === undefined) return send();
  const { count, timeoutMs } = rules;
  const [sent, waited] = await Promise.allSettled([send(), client.wait(count, timeoutMs)]);
  if (sent.status === 'rejected') throw sent.reason;
  const reached = waited.status === 'fulfilled' ? waited.value : 0;
  if (reached >= count) return sent.value;
  const why = waited.status === 'fulfilled' ? '' : `: ${String(waited.reason)}`;
  const error = `Stored, but ${reached} of ${count} replicas had it after ${timeoutMs} ms${why}.`;
  const outcomes = sent.value.outcomes.map(
    (outcome): PublishOutcome => (outcome.kind === 'acknowledged' ? { kind: 'ambiguous', error } : outcome),
  );
  return { ...sent.value, outcomes };
}
