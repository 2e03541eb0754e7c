import type { HostedParkedKeys } from '../../inbox/consumer-plan.ts';
import type { Hosting, ParkedKeysInput } from './hosting.ts';

/**
 * Makes the Temporal side of a consumer. Nothing is connected, bundled or loaded before the first workflow is started: a
 * consumer whose handlers do not fail does not need Temporal.
 */
export function startParkedKeys(input: ParkedKeysInput): HostedParkedKeys {
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
