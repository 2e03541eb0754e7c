import { randomUUID } from 'node:crypto';
import type { OutgoingMessage, Transport } from '../../../src/brokers/transport.ts';
import { publishTo } from '../fixtures/outgoing.ts';
import { until } from '../fixtures/until.ts';

/** Messages of several keys; the payload is the number of the message within its key. */
export function keyStreams(keys: number): () => readonly OutgoingMessage[] {
  let round = 0;
  return () => {
    round += 1;
    return Array.from({ length: keys }, (_, key) => {
      const id = randomUUID();
      return { id, key: `key-${key}`, payload: String(round), headers: { ce_id: id } };
    });
  };
}

/**
 * Publishes like the relay until every message is acknowledged: unacknowledged messages are sent again first.
 *
 * @param acknowledged receives the ids of acknowledged messages
 */
export async function publishAll(
  transport: Transport,
  address: string,
  partitions: number,
  next: () => readonly OutgoingMessage[] | undefined,
  acknowledged: Set<string>,
): Promise<void> {
  let open: readonly OutgoingMessage[] = [];
  for (let more = next(); more !== undefined || open.length > 0; more = next()) {
    const batch = [...open, ...(more ?? [])];
    const { outcomes, hold } = await publishTo(transport, address, batch, { partitions });
    for (const [place, { kind }] of outcomes.entries())
      if (kind === 'acknowledged') acknowledged.add(batch[place]?.id ?? '');
    open = batch.filter(({ id }) => !acknowledged.has(id));
    if (hold === undefined) continue;
    await until(
      () =>
        transport.probe(address).then(
          () => true,
          () => false,
        ),
      60_000,
    );
  }
}

/** Which of these messages were not stored, and which first arrived after a later one of their key. */
export function judge(
  sent: ReadonlySet<string>,
  log: readonly Pick<OutgoingMessage, 'id' | 'key' | 'payload'>[],
): { readonly lost: number; readonly disordered: readonly string[] } {
  const seen = new Set<string>();
  const last = new Map<string | null, number>();
  const disordered: string[] = [];
  for (const { id, key, payload } of log) {
    if (seen.has(id)) continue;
    seen.add(id);
    if (Number(payload) < (last.get(key) ?? 0)) disordered.push(`${key}:${payload}`);
    last.set(key, Number(payload));
  }
  return { lost: [...sent].filter((id) => !seen.has(id)).length, disordered };
}
