import type { DataConverter } from '@temporalio/client';
import type { Secret } from '../../../core/ask-secret.ts';
import { OutboxError } from '../../../core/errors.ts';
import { isObject } from '../../../core/options/collections.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { unknownOption } from '../../../core/options/option-names.ts';
import { assertOptions } from '../../../core/options/option-table.ts';
import type { TemporalAddress, TemporalConnection, TemporalTls } from '../client/temporal-address.ts';

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

const optionNames: readonly (keyof WorkflowOptions)[] = [
  'id',
  'type',
  'taskQueue',
  'signal',
  'missing',
  'concurrency',
  'dataConverter',
  'address',
  'namespace',
  'tls',
  'apiKey',
  'connection',
];
const defaultConcurrency = 16;
const maxConcurrency = 1_000;

/**
 * Validates the options and fills in the defaults.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function workflowSettings(options: WorkflowOptions): WorkflowSettings {
  assertOptions('workflow()', options, optionNames);
  const { id, type, taskQueue, signal, missing = 'retry', concurrency = defaultConcurrency } = options;
  if (typeof id !== 'function') throw invalid('id', 'must be a function');
  for (const [name, value] of Object.entries({ type, taskQueue, signal }))
    if (value !== undefined && !isText(value)) throw invalid(name, 'must be a text that is not empty');
  if ((type === undefined) !== (taskQueue === undefined))
    throw invalid(
      type === undefined ? 'type' : 'taskQueue',
      'is missing: `type` and `taskQueue` belong together',
    );
  if (type === undefined && signal === undefined)
    throw invalid('type', 'is missing, and so is `signal`: nothing says what to do');
  if (!['retry', 'fail'].includes(missing)) throw invalid('missing', "must be 'retry' or 'fail'");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > maxConcurrency)
    throw invalid('concurrency', 'must be an integer from 1 to 1,000');
  const start = type === undefined || taskQueue === undefined ? undefined : { type, taskQueue };
  const rules = { missing: missing === 'fail' ? 'permanent' : 'rejected', concurrency } as const;
  const { dataConverter } = options;
  return { id, start, signal, ...rules, dataConverter, target: targetOf(options) };
}

function targetOf({ address, namespace, tls, apiKey, connection }: WorkflowOptions): TemporalAddress {
  if (connection !== undefined && (tls ?? apiKey) !== undefined)
    throw invalid('connection', 'is made already, and `tls` or `apiKey` stands beside it');
  if (connection !== undefined && !isConnection(connection))
    throw invalid('connection', 'must be a NativeConnection of @temporalio/worker, or a function');
  if (apiKey !== undefined && typeof apiKey !== 'function' && !isText(apiKey))
    throw invalid('apiKey', 'must be a text that is not empty, or a function');
  const target: TemporalAddress = {
    get address() {
      return checkedText('address', read(address ?? 'localhost:7233'));
    },
    get namespace() {
      return checkedText('namespace', read(namespace ?? 'default'));
    },
    get tls() {
      return tls === undefined ? undefined : checkedTls(read(tls));
    },
    apiKey,
    connection,
  };
  // Options that are not functions are checked at once.
  for (const [name, given] of Object.entries({ address, namespace, tls }))
    if (typeof given !== 'function') Reflect.get(target, name);
  return target;
}

function checkedTls(tls: boolean | TemporalTls): boolean | TemporalTls {
  if (typeof tls === 'boolean') return tls;
  if (!isObject(tls)) throw invalid('tls', 'must be true, false or an object');
  const names = ['serverNameOverride', 'serverRootCACertificate', 'clientCertPair'];
  const unknown =
    unknownOption(tls, names) ??
    (isObject(tls.clientCertPair) ? unknownOption(tls.clientCertPair, ['crt', 'key']) : undefined);
  if (unknown !== undefined) throw invalid(`tls.${unknown}`, 'is unknown');
  return tls;
}

function checkedText(option: string, value: unknown): string {
  if (isText(value)) return value;
  throw invalid(option, 'must be a text that is not empty');
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isConnection = (value: unknown): boolean =>
  typeof value === 'function' || (isObject(value) && 'workflowService' in value && 'setApiKey' in value);

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of workflow() ${what}.`, {
    details: { option },
  });
}
