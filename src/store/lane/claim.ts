import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';
import { lookedForBlocking, mayLookForBlocking } from './blocking-looks.ts';
import { type ClaimedMessage, type ClaimRow, readClaimed } from './claimed-messages.ts';
import { ctidOf } from './lane-row.ts';
import type { LateProgress } from './lease.ts';

export interface Claim {
  /** Snapshot of the claim; the next claim reads rows that are not visible in it. */
  readonly snapshot: string;
  /** False: the lane has another owner, and there are no messages. */
  readonly owned: boolean;
  /** True: an operator has paused the topic or its transport, and there are no messages. */
  readonly paused: boolean;
  /** True if one of the limits left rows unread. */
  readonly truncated: boolean;
  /** True if keys of the lane may be free again: blocked messages are to be released. */
  readonly freed: boolean;
  /** True if it has found that no message of the lane is retrying or blocked, which the lane's row does not say yet. */
  readonly unblocked: boolean;
  /** True if it has found that no message of the lane is failed, where failed ones block, and the lane's row does not say so yet. */
  readonly unfailed: boolean;
  /** The most messages that one take of the topic's rate lets go; `null`: it has no rate. */
  readonly share: number | null;
  /** When it was made by the database's clock, in milliseconds since 1970; `null` without messages. */
  readonly at: number | null;
  /** In order of position. */
  readonly messages: readonly ClaimedMessage[];
}

export interface ClaimRequest {
  readonly owner: string;
  readonly cursor: string;
  /** The snapshot that belongs to the cursor; `null` only before the first claim. */
  readonly snapshot: string | null;
  readonly late?: LateProgress | undefined;
  readonly limit: number;
  /** Limit of the total size of payloads and headers; a larger single message is claimed alone. */
  readonly bytes: number;
  /** Whether a failed message blocks its key (`exhausted: 'block-key'`). */
  readonly failedBlocks: boolean;
  /** Rows visible in this snapshot may have been published by an owner that died. */
  readonly suspect: string | null;
}

type Looked = 'unblocked' | 'unfailed';
type Answer = ClaimRow & Omit<Claim, 'messages' | Looked> & { readonly [answer in Looked]: boolean | null };

/** The statement is a function, `outbox.claim`, so that its plan is cached. */
export const claimSql = `
  select snapshot, owned, paused, truncated, freed, unblocked, unfailed, ids, positions, created, lengths, payloads, keys, headers, others, share, at
  from outbox.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

/** Reads the next messages of a lane that the owner has not published yet. Writes nothing. */
export async function claim(sql: Sql, lane: Lane, request: ClaimRequest): Promise<Claim> {
  const { limit, cursor, snapshot, late, owner, bytes, failedBlocks, suspect } = request;
  const values = [
    lane.topic,
    lane.lane,
    limit,
    cursor,
    snapshot,
    owner,
    bytes,
    failedBlocks,
    suspect,
    ctidOf(lane),
    late?.cursor ?? null,
    late?.snapshot ?? null,
    mayLookForBlocking(lane, performance.now()),
  ];
  const startedAt = performance.now();
  const [row] = await sql.query<Answer>(claimSql, values, 'repeated');
  if (row === undefined) throw new Error('A claim answers one row.');
  if (row.unblocked !== null || row.unfailed !== null) lookedForBlocking(lane, startedAt, performance.now());
  return {
    snapshot: row.snapshot,
    owned: row.owned,
    paused: row.paused,
    truncated: row.truncated,
    freed: row.freed,
    unblocked: row.unblocked === true,
    unfailed: row.unfailed === true,
    share: row.share,
    at: row.at,
    messages: readClaimed(row),
  };
}
