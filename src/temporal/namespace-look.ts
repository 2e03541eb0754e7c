import type { Client } from '@temporalio/client';
import { rest } from '../core/rest.ts';

const lookEveryMs = 5_000;
/** The services of a server learn of a new namespace one by one; an early request may still see the old one. */
export const settleMs = 10_000;

/**
 * Makes a check of the namespace, to be called after starts of workflows: only then does it matter, because workflows that
 * were lost with a namespace become overdue and are started again. It asks every few seconds, however often it is called,
 * and never rejects.
 *
 * @param onReplaced called when the namespace was deleted and recreated: the workers must then be recreated, because long
 *   polls of the old one stay open for a minute without receiving tasks
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
      await rest(settleMs, stop);
      if (!stop.aborted) onReplaced();
    } catch {
      // Temporal is unreachable, or we are stopping; the next start checks again.
    }
  };
}

/** A recreated namespace has the same name and another id. */
export async function readNamespaceId(client: Client): Promise<string> {
  const { namespace } = client.options;
  const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
  return namespaceInfo?.id ?? '';
}
