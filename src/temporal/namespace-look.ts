import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

const lookEveryMs = 5_000;
/** The parts of a server learn of a new namespace one by one; who asks too early gets the old one once more. */
export const settleMs = 10_000;

/**
 * Makes a look at the namespace, to be called after starts of workflows: that is when it matters, because what was lost
 * with a namespace is overdue, and started again. It asks every few seconds, however often it is called, and never rejects.
 *
 * @param onReplaced called when the namespace was deleted and made again: workers are to be made anew then, because long
 *   polls of the old one go on for a minute, unheard
 */
export function namespaceLook(
  client: Client,
  onReplaced: () => void,
  stop: AbortSignal,
): () => Promise<void> {
  let known: string | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - lookedAt < lookEveryMs) return;
    lookedAt = performance.now();
    try {
      const before = known;
      known = await readNamespaceId(client);
      if (before === undefined || before === known) return;
      await delay(settleMs, undefined, { signal: stop });
      onReplaced();
    } catch {
      // Temporal is away, or we stop; the next start looks again.
    }
  };
}

/** A namespace that was made again has the old name and another id. */
export async function readNamespaceId(client: Client): Promise<string> {
  const { namespace } = client.options;
  const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
  return namespaceInfo?.id ?? '';
}
