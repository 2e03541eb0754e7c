import type { BulkWorkflows, ParkedKeyWorkflows } from '../../inbox/ports.ts';
import type { Hosting, ParkedKeysInput } from './hosting.ts';

/** Temporal, as a consumer with parked keys uses it. */
export interface ParkedKeys {
  /**
   * The first `start` connects, and begins to host the group's workflows. While Temporal is unreachable, it rejects within
   * some seconds; the start may be repeated.
   */
  readonly workflows: ParkedKeyWorkflows;
  /** The same for bulk operations on messages that the group keeps; the first `host` starts a worker for them. */
  readonly bulks: BulkWorkflows;
  /**
   * Ends the hosting; resolves when the running drains have ended, each after the message in hand. From now on starts
   * reject, so the watcher of parked keys must have been told to stop.
   */
  stop(): Promise<void>;
}

/**
 * Makes the Temporal side of a consumer. Nothing is connected, bundled or loaded before the first workflow is started: a
 * consumer whose handlers do not fail does not need Temporal.
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
    workflows: {
      start: async (key) => (await connected()).start(key),
      check: async () => (await connected()).check(),
      hosting: () => hosting?.hosting() ?? false,
    },
    bulks: {
      host: async () => (await connected()).bulks.host(),
      start: async (bulk) => (await connected()).bulks.start(bulk),
    },
    async stop() {
      stopping.abort();
      // A hosting that is still opening closes itself: an unreachable server would delay the stop for seconds.
      closing ??= hosting?.close();
      await closing;
    },
  };
}

function stopped(group: string): Error {
  return new Error(`The consumer of group "${group}" was stopped.`);
}
