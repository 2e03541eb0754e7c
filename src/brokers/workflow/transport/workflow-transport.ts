import { OutboxError } from '../../../core/errors.ts';
import { requirePackages } from '../../../core/packages.ts';
import { type SendOutcome, sendByKey } from '../../send-by-key.ts';
import type { OutgoingBatch, OutgoingMessage, PublishResult, Transport } from '../../transport.ts';
import { temporalCertificates } from '../client/certificates.ts';
import { callReason, classifyCall } from './call-failure.ts';
import { inTime } from './in-time.ts';
import type { WorkflowCalls } from './workflow-calls.ts';
import {
  type WorkflowMessage,
  type WorkflowOptions,
  type WorkflowSettings,
  workflowSettings,
} from './workflow-options.ts';

/** Time limit of a batch, so that its lane can settle what was answered before it counts as stuck. */
const sendForMs = 15_000;
/** For one call, and for a batch to wait for a connection. */
const callWithinMs = 5_000;

/**
 * Delivers to your own workflows: each message starts one, signals one, or does both at once.
 *
 * With `type` and `taskQueue`, it starts the workflow with the given id; if one was started before, even if it has ended,
 * the message counts as delivered. With `signal` alone, it signals the workflow with that id. With all three, it signals the
 * workflow, and starts it if it was never started. The arguments are the id by which inboxes know the
 * message, its payload, and `{ key, headers }`, in this order. The address of a topic is not used.
 *
 * A signal without an answer is sent again. Temporal drops the repeat as long as the same run continues; after
 * continue-as-new, the workflow must drop it by the id.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without Temporal's packages
 */
export function workflow(options: WorkflowOptions): Transport {
  requirePackages('temporal');
  return new WorkflowTransport(workflowSettings(options), sendForMs, callWithinMs);
}

/** {@link workflow}, with the time limits of a batch and of a call. */
export class WorkflowTransport implements Transport {
  readonly name = 'workflow';
  readonly #settings: WorkflowSettings;
  readonly #batchMs: number;
  readonly #callMs: number;
  #calls: Promise<WorkflowCalls> | undefined;

  constructor(settings: WorkflowSettings, batchMs: number, callMs: number) {
    this.#settings = settings;
    this.#batchMs = batchMs;
    this.#callMs = callMs;
  }

  get endpoint(): string {
    const { address, namespace } = this.#settings.target;
    return `${address} (namespace "${namespace}")`;
  }

  tls(): ReturnType<typeof temporalCertificates> {
    return temporalCertificates(this.#settings.target);
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

  async server(): Promise<string> {
    const calls = await this.#open();
    return calls.server();
  }

  async close(): Promise<void> {
    const calls = this.#calls;
    this.#calls = undefined;
    const closed = calls?.then(
      (open) => open.close(),
      () => undefined,
    );
    // A connection that is still being made is closed when it is there.
    if (closed !== undefined) await inTime(closed, this.#callMs, '').catch(() => undefined);
  }

  /** Loads Temporal's client on first use; concurrent callers share one connection. */
  #open(): Promise<WorkflowCalls> {
    if (this.#calls !== undefined) return this.#inTime(this.#calls);
    const opened = import('./workflow-calls.ts').then(({ connectCalls }) =>
      connectCalls(this.#settings, this.#callMs),
    );
    this.#calls = opened;
    opened.catch(() => {
      // The next batch tries again.
      if (this.#calls === opened) this.#calls = undefined;
    });
    return this.#inTime(opened);
  }

  /** Temporal's client waits half a minute for a server that accepts a connection and says nothing. */
  #inTime<Result>(work: Promise<Result>): Promise<Result> {
    const { address } = this.#settings.target;
    const reason = `Temporal does not answer at ${address}: no connection within ${this.#callMs} ms.`;
    return inTime(work, this.#callMs, reason);
  }

  async #send(calls: WorkflowCalls, message: OutgoingMessage): Promise<SendOutcome> {
    const { id: idOf, signal, missing } = this.#settings;
    let parsed: WorkflowMessage;
    let workflowId: string;
    try {
      // oxlint-disable-next-line eslint/no-restricted-properties -- an error fails the message
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

  /** Ends a slow batch, so that the lane can settle what was answered. */
  #slow(): SendOutcome {
    const reason = `Temporal is slow: it took less than a batch in ${this.#batchMs / 1_000} s; the rest follows`;
    return { kind: 'hold', hold: { scope: 'transport', reason }, onWire: false };
  }
}

function checkedId(id: unknown): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new TypeError('the function `id` answered no text');
}
