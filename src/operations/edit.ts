import { OutboxError } from '../core/errors.ts';
import type { Database } from '../store/database/database.ts';
import { editKept, type KeptEditAnswer, type KeptName, readEditableKept } from '../store/inbox/edit.ts';
import { type EditAnswer, editMessage, readEditable } from '../store/message/edit.ts';
import { checkKeptName, wakeLanes } from './change.ts';
import { type CheckPayload, type EditOptions, editOf } from './edit-content.ts';
import { corrections } from './inputs/messages.ts';
import { whatRemains } from './messages/what-remains.ts';
import { assertId, authorOf } from './operation-options.ts';

/** What the declarations of both edits share. */
export const editDeclared = {
  role: 'operator',
  payloads: true,
  options: corrections,
  otherOptions: ['expectedVersion'],
  refusedOptions: { key: 'cannot be edited: it decides the order' },
} as const;

/** The result of an edit; after a dry run there is no such copy. */
export interface Edited {
  /** Id of the copy, which is delivered. */
  readonly id: string;
  /** Id of the message that it replaces. */
  readonly supersedes: string;
}

/**
 * Replaces a failed message by a copy with a new id that takes its place in the order, and is delivered at once.
 *
 * @throws OutboxError `OUTBOX_CONFLICT` if it is not or no longer failed, has expired, or has another version;
 * `OUTBOX_MESSAGE_BUSY` if another transaction holds it; `OUTBOX_MESSAGE_UNKNOWN`, `OUTBOX_PAYLOAD_INVALID`, `OUTBOX_PAYLOAD_TOO_LARGE`, `OUTBOX_HEADER_INVALID`,
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
  const edit = await editOf(await readEditable(database, original), options, check);
  const answer = await editMessage(database, original, edit, author, options.dryRun ?? false);
  if (answer.kind !== 'edited') throw errorOf(original, answer);
  if (options.dryRun !== true) await wakeLanes(database, [answer]);
  return { id: answer.id, supersedes: original };
}

/**
 * Replaces a failed message, or the first of a parked key while it is not being tried, by a copy with a new id that takes
 * its position and is tried now. Its header `ce_id` is the new id, so an edit gives an id to a message without
 * one; a handler with an `id` option still sees the id that this option reads. The copy does not expire, whatever its original did.
 *
 * @throws OutboxError `OUTBOX_CONFLICT` if it is neither, or no longer, or has another version; `OUTBOX_MESSAGE_BUSY` if it is being tried,
 * or another operator holds it; `OUTBOX_MESSAGE_UNKNOWN`, `OUTBOX_PAYLOAD_INVALID`, `OUTBOX_PAYLOAD_TOO_LARGE`, `OUTBOX_HEADER_INVALID`,
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
  const found = await readEditableKept(database, name);
  const edit = await editOf(found, options, check);
  const seen = { ...edit, expectedVersion: edit.expectedVersion ?? found?.version };
  const answer = await editKept(database, name, seen, author, options.dryRun ?? false);
  if (answer.kind !== 'edited') throw keptErrorOf(name, answer);
  return { id: answer.id, supersedes: name.id };
}

function errorOf(id: string, answer: Exclude<EditAnswer, { kind: 'edited' }>): OutboxError {
  switch (answer.kind) {
    case 'unknown':
      return new OutboxError('OUTBOX_MESSAGE_UNKNOWN', `There is no message ${id}.`, { details: { id } });
    case 'refused':
      return new OutboxError(answer.code, answer.message, { details: { ...answer.details, id } });
    case 'conflict': {
      const { inHand, state, version: current } = answer;
      const held = inHand
        ? 'another transaction holds it'
        : `it has expired, or its version, ${current} now, is not the expected one`;
      const why =
        state === 'failed'
          ? held
          : `only a failed message can be edited, and it is ${state}: ${whatRemains('edit', state)}`;
      const code = inHand ? 'OUTBOX_MESSAGE_BUSY' : 'OUTBOX_CONFLICT';
      return new OutboxError(code, `The message ${id} was not edited: ${why}.`, {
        details: { id, state, version: current },
      });
    }
  }
}

const reasons = {
  'behind-key': 'an earlier message of its key goes first',
  busy: 'it is being tried, or another operator holds it',
  conflict: 'it has another version now',
  handled: 'its effects are committed',
  'too-late': 'only a failed message, or the first of a parked key, can be edited',
} as const;

function keptErrorOf(
  { group, id }: KeptName,
  { kind, state }: Exclude<KeptEditAnswer, { kind: 'edited' }>,
): OutboxError {
  if (kind === 'unknown')
    return new OutboxError('OUTBOX_MESSAGE_UNKNOWN', `The group "${group}" keeps no message ${id}.`, {
      details: { group, id },
    });
  const is = state === null ? '' : ` It is ${state}.`;
  const code = kind === 'busy' ? 'OUTBOX_MESSAGE_BUSY' : 'OUTBOX_CONFLICT';
  return new OutboxError(code, `The message ${id} was not edited: ${reasons[kind]}.${is}`, {
    details: { group, id, state, why: kind },
  });
}
