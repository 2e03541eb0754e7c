import type { DataConverter } from '@temporalio/client';
import type { Secret } from '../../../core/ask-secret.ts';
import { isObject, type Table } from '../../../core/options/collections.ts';
import type { Lazy } from '../../../core/options/lazy.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { func, oneOf, optional, shaped, text, whole } from '../../../core/options/values.ts';
import {
  type TemporalAddress,
  type TemporalConnection,
  type TemporalTls,
  temporalOptions,
} from '../client/temporal-address.ts';

/** The third argument of a workflow or signal, after the id and the payload of the message. */
export interface WorkflowMessageContext {
  /** `null` if the message has none. */
  readonly key: string | null;
  /** As consumers receive them, including CloudEvents (`ce_…`). */
  readonly headers: Readonly<Record<string, string>>;
}

/** A message, as passed to the function `id`. */
export interface WorkflowMessage extends WorkflowMessageContext {
  /** UUID of the message, the same at every delivery. */
  readonly id: string;
  /** The parsed body. */
  readonly payload: unknown;
}

/** Which workflow receives a message, and how to reach Temporal. */
export interface WorkflowOptions {
  /** Id of the workflow that receives the message; it must be the same at every call for one message. */
  readonly id: (message: WorkflowMessage) => string;
  /** Type of the workflow to start; requires `taskQueue`. @defaultValue none is started, and `signal` is required */
  readonly type?: string;
  /** The task queue of that workflow's workers. */
  readonly taskQueue?: string;
  /** Name of the signal that carries the message. @defaultValue the arguments of the start carry it */
  readonly signal?: string;
  /**
   * What happens to a message whose workflow is not running: it has ended or, without `type`, was never started. `'retry'`:
   * the message is retried by the rules of its topic. `'fail'`: it is failed at once. @defaultValue `'retry'`
   */
  readonly missing?: 'retry' | 'fail';
  /** Concurrent calls per lane, 1 to 1,000; messages of one key are sent one after the other. @defaultValue 16 */
  readonly concurrency?: number;
  /** Encodes the arguments; use the one of your workers. @defaultValue JSON */
  readonly dataConverter?: DataConverter;
  /** `host:port`. @defaultValue `localhost:7233` */
  readonly address?: Lazy<string>;
  /** The namespace of your workflows, which must exist. @defaultValue `default` */
  readonly namespace?: Lazy<string>;
  /** As `temporal.tls` of the configuration. @defaultValue `true` with an API key, otherwise no TLS */
  readonly tls?: Lazy<boolean | TemporalTls>;
  /** As `temporal.apiKey` of the configuration. @defaultValue none */
  readonly apiKey?: Secret;
  /** As `temporal.connection` of the configuration: your own connection instead of `tls` and `apiKey`. @defaultValue one is opened */
  readonly connection?: TemporalConnection | (() => TemporalConnection | Promise<TemporalConnection>);
}

/** The validated options. */
export interface WorkflowSettings {
  readonly id: (message: WorkflowMessage) => string;
  readonly start: { readonly type: string; readonly taskQueue: string } | undefined;
  readonly signal: string | undefined;
  readonly missing: 'rejected' | 'permanent';
  readonly concurrency: number;
  readonly dataConverter: DataConverter | undefined;
  /** Options given as functions are called for each new connection. */
  readonly target: TemporalAddress;
}

const workflowOptions = optionTable('workflow()', {
  id: func<WorkflowOptions['id']>(),
  type: optional(text()),
  taskQueue: optional(text()),
  signal: optional(text()),
  missing: oneOf(['retry', 'fail'], 'retry'),
  concurrency: whole(1, 1_000, 16),
  // Temporal's client judges it.
  dataConverter: optional(shaped('a data converter', (given): given is DataConverter => isObject(given))),
  ...temporalOptions,
} satisfies Table<WorkflowOptions>);

/**
 * Checks the options and fills in the defaults.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function workflowSettings(options: WorkflowOptions): WorkflowSettings {
  const { concurrency, dataConverter, id, missing, signal, taskQueue, type, ...given } =
    workflowOptions.read(options);
  const start = type === undefined || taskQueue === undefined ? undefined : { type, taskQueue };
  if (start === undefined && (type ?? taskQueue) !== undefined)
    throw workflowOptions.invalid(
      type === undefined ? 'type' : 'taskQueue',
      'is required: "type" and "taskQueue" belong together',
    );
  if (start === undefined && signal === undefined)
    throw workflowOptions.invalid('type', 'is required with "taskQueue", or set "signal"');
  if (given.connection !== undefined && (given.tls ?? given.apiKey) !== undefined)
    throw workflowOptions.invalid('connection', 'cannot be combined with "tls" or "apiKey"');
  return {
    id,
    start,
    signal,
    missing: missing === 'fail' ? 'permanent' : 'rejected',
    concurrency,
    dataConverter,
    target: {
      get address() {
        return given.address();
      },
      get namespace() {
        return given.namespace();
      },
      get tls() {
        return given.tls?.();
      },
      apiKey: given.apiKey,
      connection: given.connection,
    },
  };
}
