import { OutboxError } from '../../core/errors.ts';
import { requirePackages } from '../../core/packages.ts';
import { type SendOutcome, sendByKey } from '../send-by-key.ts';
import type { OutgoingBatch, OutgoingMessage, PublishResult, Transport } from '../transport.ts';
import { callReason, classifyCall } from './call-failure.ts';
import type { WorkflowCalls } from './workflow-calls.ts';
import {
  type WorkflowMessage,
  type WorkflowOptions,
  type WorkflowSettings,
  workflowSettings,
} from './workflow-options.ts';

/** Of a batch, so that a lane settles what was answered before it counts as stuck. */
const sendForMs = 15_000;

/**
 * Delivers to your own workflows: each message starts one, signals one, or does both at once.
 *
 * With `type` and `taskQueue` it starts the workflow of the id; one that was started before, and may have ended, counts as
 * delivered. With `signal` alone it signals the workflow of the id. With all three it signals, and starts the workflow where
 * none runs. Arguments are the id of the message, its payload, and `{ key, headers }`, in this order. The address of a topic
 * is not used.
 *
 * A signal whose answer was lost is sent again. Temporal drops the repetition while the same run goes on; after
 * continue-as-new the workflow has to, by the id.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without Temporal's packages
 */
export function workflow(options: WorkflowOptions): Transport {
  requirePackages('temporal');
  return new WorkflowTransport(workflowSettings(options), sendForMs);
}

/** {@link workflow}, with for how long one batch may keep its lane. */
export class WorkflowTransport implements Transport {
  readonly name = 'workflow';
  readonly #settings: WorkflowSettings;
  readonly #batchMs: number;
  #calls: Promise<WorkflowCalls> | undefined;

  constructor(settings: WorkflowSettings, batchMs: number) {
    this.#settings = settings;
    this.#batchMs = batchMs;
  }

  get endpoint(): string {
    const { address, namespace } = this.#settings.target;
    return `${address} (namespace "${namespace}")`;
  }

  async publish(batch: OutgoingBatch): Promise<PublishResult> {
    if (batch.messages.length === 0) return { outcomes: [] };
    let calls: WorkflowCalls;
    try {
      calls = await this.#open();
    } catch (error) {
      const hold = { scope: 'transport', reason: callReason(error) } as const;
      return { outcomes: batch.messages.map(() => ({ kind: 'deferred', onWire: false })), hold };
    }
    const endsAt = performance.now() + this.#batchMs;
    return sendByKey(batch, this.#settings.concurrency, async (message) => {
      if (performance.now() > endsAt) return this.#slow();
      return this.#send(calls, message);
    });
  }

  async probe(): Promise<void> {
    try {
      const calls = await this.#open();
      await calls.probe();
    } catch (error) {
      if (error instanceof OutboxError) throw error;
      throw new OutboxError(
        'OUTBOX_SERVER_UNAVAILABLE',
        `Temporal at ${this.endpoint}: ${callReason(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  async close(): Promise<void> {
    const calls = this.#calls;
    this.#calls = undefined;
    await calls?.then(
      (open) => open.close(),
      () => undefined,
    );
  }

  /** Loads Temporal's client when it is first needed, and connects once for all who ask meanwhile. */
  #open(): Promise<WorkflowCalls> {
    if (this.#calls !== undefined) return this.#calls;
    const opened = import('./workflow-calls.ts').then(({ connectCalls }) => connectCalls(this.#settings));
    this.#calls = opened;
    opened.catch(() => {
      // The next batch tries again.
      if (this.#calls === opened) this.#calls = undefined;
    });
    return opened;
  }

  async #send(calls: WorkflowCalls, message: OutgoingMessage): Promise<SendOutcome> {
    const { id: idOf, signal, missing } = this.#settings;
    let parsed: WorkflowMessage;
    let workflowId: string;
    try {
      parsed = { ...message, payload: JSON.parse(message.payload) };
      workflowId = checkedId(idOf(parsed));
    } catch (error) {
      return { kind: 'permanent', error: `It is for no workflow: ${callReason(error)}` };
    }
    try {
      await calls.deliver(workflowId, parsed);
      return { kind: 'acknowledged', partition: null, offset: null };
    } catch (error) {
      return classifyCall(error, { startCarries: signal === undefined, missing });
    }
  }

  /** Slow as it is, the lane settles what was answered. */
  #slow(): SendOutcome {
    const reason = `Temporal is slow: it took less than a batch in ${this.#batchMs / 1_000} s; the rest follows`;
    return { kind: 'hold', hold: { scope: 'transport', reason }, onWire: false };
  }
}

function checkedId(id: unknown): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new TypeError('the function `id` answered no text');
}
