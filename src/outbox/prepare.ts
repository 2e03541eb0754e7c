import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type Due, dueOf } from '../core/due.ts';
import { OutboxError } from '../core/errors.ts';
import { assertHeaders } from '../core/headers.ts';
import { isObject } from '../core/options/collections.ts';
import { assertOptions } from '../core/options/option-table.ts';
import type { Topic } from '../core/topic.ts';
import { versionHeader } from '../core/topic-version.ts';
import { uuid } from '../core/uuid.ts';
import type { NewMessage } from '../store/message/new-message.ts';
import { spans } from '../telemetry/spans.ts';
import { type Expires, expiryOf } from './expiry.ts';
import { type Replacement, replacementOf } from './replacement.ts';
import { findUnwritable } from './unwritable-value.ts';

/** Options of a message in a batch. */
export type MessageOptions = Due & {
  /** Messages of one topic and key are delivered in order. 1 to 256 bytes. @defaultValue no order */
  readonly key?: string;
  /** Business name of a waiting message, unique per topic while it waits: the handle to cancel it. 1 to 256 bytes. */
  readonly ref?: string;
  /** UUID of the message. Sending the same message again returns the stored one with `duplicate: true`. @defaultValue a UUIDv7 */
  readonly id?: string;
  /**
   * What is not published by then is not sent: it ends as `expired`, blocks nothing, and its key goes on. Consumers get the time as
   * the CloudEvents extension `expirytime`. After it is due; before the year 9999, or up to 100 years from the send on.
   * @defaultValue never
   */
  readonly expires?: Expires;
  /**
   * Additional headers: lower-case names, string values, 32 KiB in total. `ce_…`, `outbox-…` and `content-type` are reserved.
   * @defaultValue `traceparent` and `tracestate` of the span of `send`, if OpenTelemetry is used
   */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Options of one message. */
export type SendOptions = MessageOptions & {
  /**
   * With a `ref`: the message takes the place of the waiting one of its ref, which gets its payload, headers and due time and
   * keeps its id. Where none waits, it is stored as any other. Its key must be the same. An object says what becomes of the due
   * time. @defaultValue false: a ref that waits is refused
   */
  readonly replace?: boolean | Replacement;
};

const optionNames = ['key', 'ref', 'id', 'headers', 'after', 'at', 'expires', 'replace'];

/**
 * Checks a payload and its options, and converts them to the stored form. Writes nothing. The options have no table of readers:
 * most of them have an error code of their own, and this runs for every message.
 */
export async function prepare<Input>(
  topic: Topic<Input, unknown>,
  payload: Input,
  options: SendOptions,
): Promise<NewMessage> {
  assertOptions('send', options, optionNames);
  const { key, ref, id, headers } = options;
  const replace = replacementOf(options.replace);
  if (key !== undefined) assertIdentifier('OUTBOX_KEY_INVALID', 'key', key);
  if (ref !== undefined) assertIdentifier('OUTBOX_REF_INVALID', 'ref', ref);
  if (id !== undefined && !uuid.test(id))
    throw new OutboxError('OUTBOX_ID_INVALID', `The id "${id}" is not a UUID.`, { details: { id } });
  if (headers !== undefined) assertHeaders(headers);
  if (replace !== undefined && (ref === undefined || id !== undefined))
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      'A message that replaces a waiting one has a ref, and no id.',
      {
        details: { option: 'replace' },
      },
    );
  return {
    payload: await serialise(topic, payload),
    ...(key !== undefined && { key }),
    ...(ref !== undefined && { ref }),
    ...(id !== undefined && { id: id.toLowerCase() }),
    ...replace,
    ...headersOf(topic.rules.version, await traced(headers)),
    ...dueOf(options, topic.rules.delayLimitMs),
    ...expiryOf(options.expires),
  };
}

/** The headers with the current trace, unless they already have one or have no room for it. */
async function traced(given: SendOptions['headers']): Promise<SendOptions['headers']> {
  const trace = given?.['traceparent'] === undefined ? await spans.headers() : {};
  if (Object.keys(trace).length === 0) return given;
  const both = { ...given, ...trace };
  try {
    assertHeaders(both);
    return both;
  } catch {
    return given;
  }
}

/** The version is stored in the row, so that a relay with a newer topic does not change the version of the message. */
function headersOf(
  version: number,
  headers: Readonly<Record<string, string>> | undefined,
): Pick<NewMessage, 'headers'> {
  if (version !== 1) return { headers: { ...headers, [versionHeader]: String(version) } };
  return headers === undefined ? {} : { headers };
}

/** The text to store. The schema validates what the consumer will parse, not the caller's object: a `Date` becomes a string. */
async function serialise<Input>(topic: Topic<Input, unknown>, payload: Input): Promise<string> {
  const text = toJson(topic.name, payload);
  // oxlint-disable-next-line eslint/no-restricted-properties -- it was written above
  const json: unknown = JSON.parse(text);
  const result = await validated(topic, json);
  if (result.issues === undefined) return text;
  const issues = result.issues.slice(0, 10).map((issue) => {
    const path = pathOf(issue);
    return { path: path.join('.'), message: `${issue.message}${becauseOfJson(payload, json, path)}` };
  });
  throw new OutboxError(
    'OUTBOX_PAYLOAD_INVALID',
    `The payload does not match the schema of the topic "${topic.name}": ${issues.map((issue) => `${issue.path || '(whole)'}: ${issue.message}`).join('; ')}.`,
    { details: { topic: topic.name, issues } },
  );
}

/** @throws OutboxError `OUTBOX_PAYLOAD_INVALID` for a payload too deep for a schema that calls itself at each level */
async function validated(
  { name, schema }: Pick<Topic, 'name' | 'schema'>,
  json: unknown,
): Promise<StandardSchemaV1.Result<unknown>> {
  try {
    return await schema['~standard'].validate(json);
  } catch (cause) {
    if (!(cause instanceof RangeError && /call stack/.test(cause.message))) throw cause;
    throw new OutboxError(
      'OUTBOX_PAYLOAD_INVALID',
      `The schema of the topic "${name}" cannot check the payload: ${cause.message}.`,
      { details: { topic: name }, cause },
    );
  }
}

function toJson(topic: string, payload: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (cause) {
    const where = findUnwritable(payload);
    throw new OutboxError(
      'OUTBOX_PAYLOAD_INVALID',
      `The payload for the topic "${topic}" cannot be serialized as JSON${where === undefined ? '' : `: ${where.path} ${where.why}`}.`,
      { details: { topic, ...(where !== undefined && { path: where.path }) }, cause },
    );
  }
  if (text !== undefined) return text;
  throw new OutboxError(
    'OUTBOX_PAYLOAD_INVALID',
    `The payload for the topic "${topic}" is not a JSON value.`,
    { details: { topic } },
  );
}

function pathOf(issue: StandardSchemaV1.Issue): readonly string[] {
  return (issue.path ?? []).map((segment) => String(typeof segment === 'object' ? segment.key : segment));
}

/** Why a schema refuses what looks right to its caller: a `Date`, for one, is a string in JSON. */
function becauseOfJson(payload: unknown, json: unknown, path: readonly string[]): string {
  if (!isObject(valueAt(payload, path)) || typeof valueAt(json, path) !== 'string') return '';
  return ' (the schema sees the JSON, as the consumer does, where this is a string: use a schema that reads one, such as z.coerce.date())';
}

function valueAt(whole: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? Reflect.get(at, name) : undefined), whole);
}

/** @throws OutboxError with the given code if the text cannot be stored */
export function assertIdentifier(
  code: 'OUTBOX_KEY_INVALID' | 'OUTBOX_REF_INVALID',
  option: string,
  value: string,
): void {
  // PostgreSQL stores neither NUL nor lone surrogates, and its error would abort the transaction.
  const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0;
  if (bytes >= 1 && bytes <= 256 && !/\0|\p{Surrogate}/u.test(value)) return;
  throw new OutboxError(
    code,
    `The ${option} is not a string of 1 to 256 bytes without NUL and lone surrogates.`,
    { details: { option, bytes } },
  );
}
