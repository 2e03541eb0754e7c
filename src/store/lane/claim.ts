import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';
import { placeOf } from './lane-row.ts';

/** A row of the outbox, as needed to publish it. */
export interface ClaimedMessage {
  readonly id: string;
  readonly position: string;
  readonly key: string | null;
  readonly payload: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly workflowId: string;
  /** True if the row has a workflow of its own, which waits for the outcome. */
  readonly ownWorkflow: boolean;
  readonly attempts: number;
  readonly createdAt: Date;
  /** True if it must not be sent: a retrying, held or blocking failed message of its key comes before it. */
  readonly blocked: boolean;
  /** True if a dead owner may already have published it. */
  readonly suspect: boolean;
}

export interface Claim {
  /** Snapshot of the claim; the next claim reads rows that are not visible in it. */
  readonly snapshot: string;
  /** False: the lane has another owner, and there are no messages. */
  readonly owned: boolean;
  /** True: an operator has paused the topic or its transport, and there are no messages. */
  readonly paused: boolean;
  /** True if one of the limits left rows unread. */
  readonly truncated: boolean;
  /** In order of position. */
  readonly messages: readonly ClaimedMessage[];
}

export interface ClaimRequest {
  readonly owner: string;
  readonly cursor: string;
  /** The snapshot that belongs to the cursor; `null` only before the first claim. */
  readonly snapshot: string | null;
  readonly limit: number;
  /** Limit of the total payload size; a larger single message is claimed alone. */
  readonly bytes: number;
  /** Whether a failed message blocks its key (`exhausted: 'hold-key'`). */
  readonly failedBlocks: boolean;
  /** Rows visible in this snapshot may have been published by an owner that died. */
  readonly suspect: string | null;
}

/** The statement is a function, `outbox.claim`, so that its plan is cached. */
export const claimSql = `
  select snapshot, owned, paused, truncated, id, position, key, payload, content_type as "contentType", headers,
    workflow_id as "workflowId", own_workflow as "ownWorkflow", attempts, created_at as "createdAt", suspect, blocked
  from outbox.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

type ClaimRow = Omit<Claim, 'messages'> & {
  readonly [Field in keyof ClaimedMessage]: ClaimedMessage[Field] | null;
};

/** Reads the next messages of a lane that the owner has not published yet. Writes nothing. */
export async function claim(sql: Sql, lane: Lane, request: ClaimRequest): Promise<Claim> {
  const { limit, cursor, snapshot, owner, bytes, failedBlocks, suspect } = request;
  const rows = await sql.query<ClaimRow>(claimSql, [
    lane.topic,
    lane.lane,
    limit,
    cursor,
    snapshot,
    owner,
    bytes,
    failedBlocks,
    suspect,
    placeOf(lane),
  ]);
  const [first] = rows;
  if (first === undefined) throw new Error('A claim answers at least one row.');
  const empty = first.id === null;
  return {
    snapshot: first.snapshot,
    owned: first.owned,
    paused: first.paused,
    truncated: first.truncated,
    messages: empty ? [] : (rows as unknown as readonly ClaimedMessage[]),
  };
}
