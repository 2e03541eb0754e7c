import { OutboxError } from '../core/errors.ts';
import { assertHeaders } from '../core/headers.ts';
import { reasonOf } from '../core/reason.ts';
import type { Database } from '../store/database/database.ts';
import { type EditAnswer, type EditableMessage, editMessage, readEditable } from '../store/message/edit.ts';
import { wakeLanes } from './change.ts';
import { assertId, authorOf, type OperationOptions } from './operation-options.ts';

/**
 * The corrections to a failed message. Everything else stays as it is. The key cannot be changed, because it decides the
 * order, nor can the version of the payload: a new payload must have the same version.
 */
export interface EditOptions extends OperationOptions {
  /** The new payload, to be serialized as JSON. */
  readonly payload?: unknown;
  /** The new payload as JSON text, stored exactly as it is. */
  readonly payloadText?: string;
  /** Headers to set, or with null to remove. `ce_…`, `outbox-…`, `content-type`, `traceparent` and `tracestate` are locked. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** `version` of the message as it was shown; another edit since then is a conflict. @defaultValue any */
  readonly expectedVersion?: string;
}

/** The result of an edit; after a dry run there is no such copy. */
export interface Edited {
  /** Id of the copy, which is delivered. */
  readonly id: string;
  /** Id of the message that it replaces. */
  readonly supersedes: string;
}

/** Validates a payload with the schema of its topic; the headers contain its version. @throws OutboxError `OUTBOX_PAYLOAD_INVALID` */
export type CheckPayload = (
  topic: string,
  payload: unknown,
  headers: EditableMessage['headers'],
) => Promise<void>;

const optionNames = new Set([
  'actor',
  'reason',
  'dryRun',
  'payload',
  'payloadText',
  'headers',
  'expectedVersion',
]);
const locked = new Set(['traceparent', 'tracestate']);
const version = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

/**
 * Replaces a failed message by a copy with a new id that takes its place in the order, and is delivered at once.
 *
 * @throws OutboxError `OUTBOX_CONFLICT` if it is not or no longer failed, has another version, or is locked by another
 * transaction; `OUTBOX_MESSAGE_UNKNOWN`, `OUTBOX_PAYLOAD_INVALID`, `OUTBOX_PAYLOAD_TOO_LARGE`, `OUTBOX_HEADER_INVALID`,
 * `OUTBOX_OPTION_INVALID`; nothing is changed then
 */
export async function editFailed(
  database: Database,
  id: string,
  options: EditOptions,
  check: CheckPayload,
): Promise<Edited> {
  const author = authorOf(options);
  const original = assertId(id);
  assertEditOptions(options);
  const found = await readEditable(database, original);
  const edit = found === undefined ? {} : await contentOf(found, options, check);
  const answer = await editMessage(
    database,
    original,
    { ...edit, ...(options.expectedVersion !== undefined && { expectedVersion: options.expectedVersion }) },
    author,
    options.dryRun ?? false,
  );
  if (answer.kind !== 'edited') throw errorOf(original, answer);
  if (options.dryRun !== true) await wakeLanes(database, [answer]);
  return { id: answer.id, supersedes: original };
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertEditOptions(options: EditOptions): void {
  const unknown = Object.keys(options).find((option) => !optionNames.has(option));
  if (unknown !== undefined)
    throw invalid(
      unknown,
      unknown === 'key' ? 'cannot be edited: it decides the order' : 'is not an option of edit',
    );
  if (options.payload !== undefined && options.payloadText !== undefined)
    throw invalid('payloadText', 'is given together with "payload"');
  if (options.payload === undefined && options.payloadText === undefined && options.headers === undefined)
    throw invalid('payload', 'is missing, and so are headers: to send it unchanged, use retry');
  if (options.expectedVersion !== undefined && !version.test(options.expectedVersion))
    throw invalid('expectedVersion', 'is not a version as show prints it');
}

async function contentOf(
  found: EditableMessage,
  options: EditOptions,
  check: CheckPayload,
): Promise<{ payload?: string; headers?: Readonly<Record<string, string>> | null }> {
  const text = options.payloadText ?? (options.payload === undefined ? undefined : toJson(options.payload));
  if (text !== undefined) {
    if (!/^application\/(?:.+\+)?json\b/.test(found.contentType))
      throw new OutboxError(
        'OUTBOX_PAYLOAD_INVALID',
        `Only JSON can be edited; this is ${found.contentType}.`,
      );
    await check(found.topic, parsePayload(text), found.headers);
  }
  return {
    ...(text !== undefined && { payload: text }),
    ...(options.headers !== undefined && { headers: mergeHeaders(found.headers ?? {}, options.headers) }),
  };
}

/** @throws OutboxError `OUTBOX_PAYLOAD_INVALID` */
export function toJson(payload: unknown): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined) return text;
  throw new OutboxError('OUTBOX_PAYLOAD_INVALID', 'The payload cannot be serialized as JSON.', { cause });
}

/** @throws OutboxError `OUTBOX_PAYLOAD_INVALID` */
export function parsePayload(text: string): unknown {
  try {
    if (/\p{Surrogate}/u.test(text)) throw new Error('it contains a lone surrogate');
    return JSON.parse(text);
  } catch (cause) {
    const why = reasonOf(cause);
    throw new OutboxError('OUTBOX_PAYLOAD_INVALID', `The payload is not JSON: ${why}`, { cause });
  }
}

/**
 * Headers after an edit; `null`: none is left.
 *
 * @throws OutboxError `OUTBOX_HEADER_INVALID` for locked, reserved and malformed ones
 */
export function mergeHeaders(
  before: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> | null {
  const name = Object.keys(changes).find((each) => locked.has(each));
  if (name !== undefined) {
    throw new OutboxError(
      'OUTBOX_HEADER_INVALID',
      `The header "${name}" is locked: it identifies the origin of the message.`,
      {
        details: { header: name },
      },
    );
  }
  // Reserved names are refused by the same rule, even where they are to be removed.
  assertHeaders(Object.fromEntries(Object.keys(changes).map((each) => [each, changes[each] ?? ''])));
  const merged = Object.entries({ ...before, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  return merged.length === 0 ? null : Object.fromEntries(merged);
}

function errorOf(id: string, answer: Exclude<EditAnswer, { kind: 'edited' }>): OutboxError {
  switch (answer.kind) {
    case 'unknown':
      return new OutboxError('OUTBOX_MESSAGE_UNKNOWN', `There is no message ${id}.`, { details: { id } });
    case 'refused':
      return new OutboxError(answer.code, answer.message, { details: { ...answer.details, id } });
    case 'conflict': {
      const { state, version: current } = answer;
      return new OutboxError(
        'OUTBOX_CONFLICT',
        `The message ${id} was not edited: it is ${state}, of version ${current}; it must be failed, and of the expected version.`,
        { details: { id, state, version: current } },
      );
    }
  }
}

function invalid(option: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "${option}" ${why}.`, { details: { option } });
}
