import type { BulkWorkflows, ParkedKeyWorkflows } from '../../inbox/ports.ts';
import type { Hosting, ParkedKeysInput } from './hosting.ts';

/** Temporal, as a consumer with parked keys uses it. */
export interface ParkedKeys {
  /**
   * Its first `start` connects, and begins to host the group's workflows. While Temporal is away it rejects within some
   * seconds; the same start may be made again.
   */
  readonly workflows: ParkedKeyWorkflows;
  /** The same for bulk operations on what the group keeps, with a worker of their own from the first `host` on. */
  readonly bulks: BulkWorkflows;
  /**
   * Ends the hosting; resolves when the drains under way have ended, each after the message in hand. Starts reject from
   * now on. Whoever watches for parked keys is stopped first.
   */
  stop(): Promise<void>;
}

/**
 * Makes the Temporal side of a consumer. Nothing is connected, bundled or loaded until a first workflow is started: a
 * consumer whose handlers do not fail needs no Temporal.
 */
export function startParkedKeys(input: ParkedKeysInput): ParkedKeys {
  const stopping = new AbortController();
  let opening: Promise<Hosting> | undefined;
  let hosting: Hosting | undefined;
  let closing: Promise<void> | undefined;

  async function open(): Promise<Hosting> {
    const { openHosting } = await import('./hosting.ts');
    const opened = await openHosting(input, stopping.signal);
    if (stopping.signal.aborted) {
      await opened.close();
      throw stopped(input.group);
    }
    hosting = opened;
    return opened;
  }

  function connected(): Promise<Hosting> {
    if (stopping.signal.aborted) return Promise.reject(stopped(input.group));
    return (opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    }));
  }

  return {
    workflows: { start: async (key) => (await connected()).start(key) },
    bulks: {
      host: async () => (await connected()).bulks.host(),
      start: async (bulk) => (await connected()).bulks.start(bulk),
    },
    async stop() {
      stopping.abort();
      // One that is still being opened closes itself: a server that is away would keep us for seconds.
      closing ??= hosting?.close();
      await closing;
    },
  };
}

function stopped(group: string): Error {
  return new Error(`The consumer of group "${group}" was stopped.`);
}
