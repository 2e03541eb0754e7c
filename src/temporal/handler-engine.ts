import { Client } from '@temporalio/client';
import type { KeyDrains, KeyWorkflows } from '../inbox/ports.ts';
import { connectTemporal, type TemporalAddress } from './connection.ts';
import { createHandlerStarter } from './handler-starter.ts';
import { hostHandlers } from './handler-workers.ts';
import { namespaceLook } from './namespace-look.ts';
import { quietRuntime } from './runtime.ts';
import { hasSearchAttributes } from './search-attributes.ts';

export interface HandlersInput {
  readonly temporal: TemporalAddress;
  /** UUID of the installation in whose database the group keeps its messages. */
  readonly installation: string;
  readonly group: string;
  readonly drains: KeyDrains;
  /** May keys of this topic be seen in the Temporal UI? */
  readonly visible: (topic: string) => boolean;
  /** Parked keys that this process drains side by side, 1 or more. @defaultValue 10 */
  readonly concurrency?: number;
  /** Called with what ended the worker, which is made anew. Must not throw. */
  readonly report: (error: unknown) => void;
}

/** Temporal, as a consumer with parked keys uses it. */
export interface Handlers {
  /**
   * Its first `start` connects, and begins to host the group's workflows. While Temporal is away it rejects within some
   * seconds; the same start may be made again.
   */
  readonly workflows: KeyWorkflows;
  /**
   * Ends the hosting; resolves when the drains under way have ended, each after the message in hand. Starts reject from
   * now on. Whoever watches for parked keys is stopped first.
   */
  stop(): Promise<void>;
}

const defaultConcurrency = 10;

/**
 * Makes the Temporal side of a consumer. Nothing is connected, bundled or loaded until a first workflow is started: a
 * consumer whose handlers do not fail needs no Temporal.
 */
export function startHandlers(input: HandlersInput): Handlers {
  const stopping = new AbortController();
  let opening: Promise<Hosting> | undefined;
  let hosting: Hosting | undefined;
  let closing: Promise<void> | undefined;

  async function open(): Promise<Hosting> {
    const opened = await openHosting(input, stopping.signal);
    if (stopping.signal.aborted) {
      await opened.close();
      throw stopped(input.group);
    }
    hosting = opened;
    return opened;
  }

  return {
    workflows: {
      async start(key) {
        if (stopping.signal.aborted) throw stopped(input.group);
        opening ??= open().catch((error: unknown) => {
          opening = undefined;
          throw error;
        });
        await (await opening).start(key);
      },
    },
    async stop() {
      stopping.abort();
      // One that is still being opened closes itself: a server that is away would keep us for seconds.
      closing ??= hosting?.close();
      await closing;
    },
  };
}

interface Hosting extends KeyWorkflows {
  close(): Promise<void>;
}

async function openHosting(input: HandlersInput, stop: AbortSignal): Promise<Hosting> {
  const { temporal, installation, group, drains, visible, report } = input;
  const { namespace } = temporal;
  // The signals of a process that belongs to the application are its own.
  quietRuntime({ shutdownSignals: [] });
  const link = await connectTemporal(temporal);
  const { connection } = link;
  try {
    const client = new Client({ connection, namespace });
    const searchAttributes = await hasSearchAttributes(client, namespace).catch(() => false);
    const concurrency = input.concurrency ?? defaultConcurrency;
    const worker = { connection, namespace, installation, group, drains, concurrency, failed: report };
    const hosted = await hostHandlers(worker);
    const starter = createHandlerStarter({ client, installation, group, visible, searchAttributes });
    const look = namespaceLook(client, () => hosted.renew(), stop);
    return {
      async start(key) {
        await starter.start(key);
        void look();
      },
      async close() {
        await hosted.stop();
        await link.close();
      },
    };
  } catch (error) {
    await link.close().catch(() => undefined);
    throw error;
  }
}

function stopped(group: string): Error {
  return new Error(`The consumer of group "${group}" was stopped.`);
}
