import { OutboxError } from '../core/errors.ts';
import { assertHeaders } from '../core/headers.ts';
import { reasonOf } from '../core/reason.ts';
import { statedTime } from '../core/written-time.ts';
import type { Edit } from '../store/message/edit.ts';
import { invalid, type OperationOptions } from './operation-options.ts';

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

/** What an edit corrects: a message of the outbox, or one that a group keeps, whose body is read as JSON. */
interface Original {
  readonly topic: string;
  readonly contentType?: string;
  readonly headers: Readonly<Record<string, string>> | null;
}

/** Validates a payload with the schema of its topic; the headers contain its version. @throws OutboxError `OUTBOX_PAYLOAD_INVALID` */
export type CheckPayload = (topic: string, payload: unknown, headers: Original['headers']) => Promise<void>;

const locked = new Set(['traceparent', 'tracestate']);
const version = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

/** True for a `version` as show prints it; the database must be able to read it. */
export function isVersion(text: string): boolean {
  return version.test(text) && statedTime(text) !== undefined;
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertEditOptions(options: EditOptions): void {
  if (options.payload !== undefined && options.payloadText !== undefined)
    throw invalid('payloadText', 'is given together with "payload"');
  if (options.payload === undefined && options.payloadText === undefined && options.headers === undefined)
    throw invalid('payload', 'is missing, and so are headers: to send it unchanged, use retry');
  if (options.expectedVersion !== undefined && !isVersion(options.expectedVersion))
    throw invalid('expectedVersion', 'is not a version as show prints it');
}

/**
 * The edit that checked options ask for; that of a missing message changes nothing, and is made so that the audit has it.
 *
 * @throws OutboxError `OUTBOX_PAYLOAD_INVALID`, `OUTBOX_HEADER_INVALID`
 */
export async function editOf(
  found: Original | undefined,
  { payload, payloadText, headers, expectedVersion }: EditOptions,
  check: CheckPayload,
): Promise<Edit> {
  const seen = expectedVersion === undefined ? {} : { expectedVersion };
  if (found === undefined) return seen;
  const text = payloadText ?? (payload === undefined ? undefined : toJson(payload));
  if (text !== undefined) {
    if (found.contentType !== undefined && !/^application\/(?:.+\+)?json\b/.test(found.contentType))
      throw new OutboxError(
        'OUTBOX_PAYLOAD_INVALID',
        `Only JSON can be edited; this is ${found.contentType}.`,
      );
    await check(found.topic, parsePayload(text), found.headers);
  }
  return {
    ...seen,
    ...(text !== undefined && { payload: text }),
    ...(headers !== undefined && { headers: mergeHeaders(found.headers ?? {}, headers) }),
  };
}

/** @throws OutboxError `OUTBOX_PAYLOAD_INVALID` */
function toJson(payload: unknown): string {
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

/** @throws OutboxError `OUTBOX_PAYLOAD_INVALID`, which repeats nothing of the payload: it is stored as the answer of a request */
function parsePayload(text: string): unknown {
  if (/\p{Surrogate}/u.test(text))
    throw new OutboxError('OUTBOX_PAYLOAD_INVALID', 'The payload is not JSON: it contains a lone surrogate.');
  try {
    // oxlint-disable-next-line eslint/no-restricted-properties -- the error has the place, and only that
    return JSON.parse(text);
  } catch (error) {
    throw new OutboxError('OUTBOX_PAYLOAD_INVALID', `The payload is not JSON${placeIn(reasonOf(error))}.`);
  }
}

/** Node says either the place, at the end, or repeats the text around it. */
function placeIn(reason: string): string {
  const [place] = / at position \d+(?: \(line \d+ column \d+\))?$/.exec(reason) ?? [];
  return place ?? '';
}

/**
 * Headers after an edit; `null`: none is left.
 *
 * @throws OutboxError `OUTBOX_HEADER_INVALID` for locked, reserved and malformed ones
 */
function mergeHeaders(
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
