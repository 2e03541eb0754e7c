import { OutboxError } from '../../core/errors.ts';
import type { Database } from '../../store/database/database.ts';
import {
  type EditableKept,
  editKept,
  type KeptEdit,
  type KeptEditAnswer,
  type KeptName,
  readEditableKept,
} from '../../store/inbox/edit.ts';
import { readWire } from '../../store/inbox/wire.ts';
import {
  assertEditOptions,
  type CheckPayload,
  type Edited,
  type EditOptions,
  mergeHeaders,
  parsePayload,
  toJson,
} from '../edit.ts';
import { authorOf } from '../operation-options.ts';
import { checkKeptName } from './kept-target.ts';

/**
 * Replaces a failed message, or the first of a parked key while it is not being tried, by a copy with a new id that takes
 * its place in the order and is tried now. Its header `ce_id` is the new id, so an edit gives an id to a message without
 * one; a handler with an `id` option still sees the id that this option reads.
 *
 * @throws OutboxError `OUTBOX_CONFLICT` if it is neither, or no longer, has another version, or is held by another operator;
 * `OUTBOX_MESSAGE_UNKNOWN`, `OUTBOX_PAYLOAD_INVALID`, `OUTBOX_PAYLOAD_TOO_LARGE`, `OUTBOX_HEADER_INVALID`,
 * `OUTBOX_OPTION_INVALID`; nothing is changed then
 */
export async function editKeptMessage(
  database: Database,
  named: KeptName,
  options: EditOptions,
  check: CheckPayload,
): Promise<Edited> {
  const author = authorOf(options);
  const name = checkKeptName(named);
  assertEditOptions(options);
  const found = await readEditableKept(database, name);
  const edit = found === undefined ? ofNothing : await contentOf(found, options, check);
  const answer = await editKept(database, name, edit, author, options.dryRun ?? false);
  if (answer.kind !== 'edited') throw errorOf(name, answer);
  return { id: answer.id, supersedes: name.id };
}

/** The edit of a missing message: executed anyway, so that the audit records it. */
const ofNothing: KeptEdit = { version: '-infinity', wireOf: () => '{}' };

async function contentOf(found: EditableKept, options: EditOptions, check: CheckPayload): Promise<KeptEdit> {
  const { key, headers: before } = readWire(found.wire);
  const body = options.payloadText ?? (options.payload === undefined ? undefined : toJson(options.payload));
  const headers = options.headers === undefined ? before : (mergeHeaders(before, options.headers) ?? {});
  if (body !== undefined) await check(found.topic, parsePayload(body), before);
  return {
    version: options.expectedVersion ?? found.version,
    wireOf: (id) => JSON.stringify({ key, headers: { ...headers, ce_id: id } }),
    ...(body !== undefined && { body }),
  };
}

const reasons = {
  'behind-key': 'an earlier message of its key goes first',
  busy: 'it is being tried, or another operator holds it',
  conflict: 'it has another version now',
  handled: 'its effects are committed',
  'too-late': 'only a failed message, or the first of a parked key, can be edited',
} as const;

function errorOf(
  { group, id }: KeptName,
  { kind, state }: Exclude<KeptEditAnswer, { kind: 'edited' }>,
): OutboxError {
  if (kind === 'unknown')
    return new OutboxError('OUTBOX_MESSAGE_UNKNOWN', `The group "${group}" keeps no message ${id}.`, {
      details: { group, id },
    });
  const is = state === null ? '' : ` It is ${state}.`;
  return new OutboxError('OUTBOX_CONFLICT', `The message ${id} was not edited: ${reasons[kind]}.${is}`, {
    details: { group, id, state, why: kind },
  });
}
