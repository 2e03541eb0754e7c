import { isUtf8 } from 'node:buffer';
import { hasPassed } from '../../core/expiry-time.ts';
import type { Database } from '../../store/database/database.ts';
import type { KeptName } from '../../store/inbox/edit.ts';
import {
  isNoted,
  type KeptKey,
  readKeptAudit,
  readKeptMessage,
  type StoredKept,
} from '../../store/inbox/show.ts';
import { readWire } from '../../store/inbox/wire.ts';
import type { ShownAudit } from '../../store/message/show.ts';
import { checkKeptName } from '../change.ts';
import { explainKept, type KeptWhy } from './why.ts';

/** A message that a consumer keeps, with everything in its row. */
export interface ShownKept extends StoredKept {
  /** As they arrived; none if it was expunged. */
  readonly headers: Readonly<Record<string, string>>;
  /** `null`: it has no body, or was expunged. */
  readonly body: { readonly text: string } | { readonly base64: string } | null;
}

/** A kept message, what was done to it, and why it is kept. */
export interface KeptDetails {
  /** The message with its headers and body. */
  readonly message: ShownKept;
  /** Why it is kept, and what to do about it. */
  readonly why: KeptWhy;
  /** What operators did to it, or were refused; newest first. */
  readonly audit: readonly ShownAudit[];
}

/** What is known of a message that is not, or no longer, kept. */
export interface NotKept {
  /** Always null, unlike in {@link KeptDetails}. */
  readonly message: null;
  /** True: the group has committed its effects. False: it never had it, or its window is over. */
  readonly handled: boolean;
  /** What operators did to it while it was kept, or were refused; newest first, at most 200. */
  readonly audit: readonly ShownAudit[];
}

export type { KeptKey };

/**
 * Everything about one message of a group.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export async function showKept(database: Database, named: KeptName): Promise<KeptDetails | NotKept> {
  const name = checkKeptName(named);
  const audit = await readKeptAudit(database, name);
  const row = await readKeptMessage(database, name);
  if (row === undefined) return { message: null, handled: await isNoted(database, name), audit };
  const { body, wire, ...rest } = row;
  const { headers } = readWire(wire);
  const expired = hasPassed(headers['ce_expirytime']);
  return {
    message: { ...rest, headers, body: shownBody(body) },
    why: explainKept({ ...row, expired }),
    audit,
  };
}

function shownBody(base64: string | null): ShownKept['body'] {
  if (base64 === null) return null;
  const bytes = Buffer.from(base64, 'base64');
  return isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') };
}
