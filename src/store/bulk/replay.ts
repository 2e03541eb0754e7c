import { withoutChosenId } from '../../core/chosen-id.ts';
import { type Author, type Round, writeAudit } from '../audit/audit.ts';
import type { Sql } from '../database/database.ts';
import { filterValues, matchesSql } from '../message/list.ts';
import type { NewMessage, StoreAnswer } from '../message/new-message.ts';
import { storeMessages } from '../message/write.ts';
import type { PageAnswer } from './page-answer.ts';
import type { BulkFilter } from './selection.ts';

/** A page of a replay. */
export interface ReplayPage {
  readonly filter: BulkFilter;
  readonly ids: readonly string[];
  /** The topic that gets the copies. */
  readonly to: string;
  readonly author: Author;
}

/**
 * So many bytes of payloads a page holds at once, and at least one message. A page of the largest messages is more than fits
 * into a string, or into a list of the server.
 */
const partBytes = 8 * 1_048_576;

/** A message that is sent again, as it is audited. */
interface Named {
  readonly id: string;
  readonly topic: string;
}

/** What of it is copied. */
interface Original extends Named {
  readonly key: string | null;
  readonly payload: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | null;
}

/** What became of one original. */
interface Outcome {
  readonly original: Named;
  readonly result: 'replayed' | 'refused';
  readonly lane: number | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** True if a relay has announced the topic, so that its messages are delivered. */
export async function isAnnounced(sql: Sql, topic: string): Promise<boolean> {
  const rows = await sql.query('select from outbox.topic where name = $1', [topic]);
  return rows.length > 0;
}

/**
 * Stores copies of messages, in the order of their positions, with one audit entry for each original. It is part of the
 * transaction that records the progress of the operation, so that nothing is copied twice.
 *
 * What the topic refuses, for example a payload beyond its limit, is answered `refused`, and the others are stored.
 */
export async function replayMessages(
  sql: Sql,
  { filter, ids, to, author }: ReplayPage,
): Promise<Round<PageAnswer>> {
  const outcomes: Outcome[] = [];
  for (const part of partsOf(await readSizes(sql, filter, ids)))
    outcomes.push(...(await storeCopies(sql, to, await readOriginals(sql, filter, part))));
  const found = new Set(outcomes.map(({ original }) => original.id));
  // Since it was chosen a failed message may have been retried, any one expunged, and the history dropped.
  const gone = ids.filter((id) => !found.has(id));
  await writeAudit(sql, [
    ...outcomes.map(({ original: { id, topic }, result, details }) => ({
      ...author,
      action: 'replay',
      messageId: id,
      topic,
      result,
      details,
    })),
    ...gone.map((id) => ({
      ...author,
      action: 'replay',
      messageId: id,
      topic: filter.topic ?? null,
      result: 'too-late',
    })),
  ]);
  const answers = [
    ...outcomes.map(({ original: { id }, result, lane }) => ({ id, result, topic: to, lane })),
    ...gone.map((id) => ({ id, result: 'too-late', topic: null })),
  ];
  return { answers, busy: [], deferred: [] };
}

/** In the order of their positions. */
async function readSizes(sql: Sql, filter: BulkFilter, ids: readonly string[]): Promise<readonly Sized[]> {
  return readMatching<Sized>(sql, 'octet_length(a.payload) as bytes', filter, ids);
}

interface Sized {
  readonly id: string;
  readonly bytes: number;
}

/** Divides messages into parts of at most {@link partBytes}, in their order. */
function partsOf(messages: readonly Sized[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let left = 0;
  for (const { id, bytes } of messages) {
    left -= bytes;
    const part = left < 0 ? undefined : parts.at(-1);
    if (part !== undefined) {
      part.push(id);
      continue;
    }
    parts.push([id]);
    left = partBytes - bytes;
  }
  return parts;
}

async function readOriginals(
  sql: Sql,
  filter: BulkFilter,
  ids: readonly string[],
): Promise<readonly Original[]> {
  return readMatching<Original>(
    sql,
    'a.topic, a.key, a.payload, a.content_type as "contentType", a.headers',
    filter,
    ids,
  );
}

/** Distinct, because a query that is planned while a leaf moves may find its messages twice. */
async function readMatching<Row>(
  sql: Sql,
  columns: string,
  filter: BulkFilter,
  ids: readonly string[],
): Promise<readonly Row[]> {
  return sql.query<Row>(
    `select distinct on (a.position, a.id) a.id::text as id, ${columns}
     from outbox.message_all a where a.id = any($11::uuid[]) and a.expunged_at is null and ${matchesSql} order by a.position, a.id`,
    [...filterValues(filter), [...ids]],
  );
}

async function storeCopies(
  sql: Sql,
  to: string,
  originals: readonly Original[],
): Promise<readonly Outcome[]> {
  if (originals.length === 0) return [];
  const answers = await storeMessages(sql, to, originals.map(copyOf));
  const refused = new Map(answers.flatMap(({ n, refusal }) => (refusal === null ? [] : [[n, refusal]])));
  if (refused.size === 0)
    return originals.flatMap((original, index) => {
      const answer = answers[index];
      return answer === undefined ? [] : [replayed(original, to, answer)];
    });
  // All or none were stored, and the answers are the refusals.
  const others = originals.filter((_, index) => !refused.has(index + 1));
  return [
    ...(await storeCopies(sql, to, others)),
    ...originals.flatMap((original, index): readonly Outcome[] => {
      const refusal = refused.get(index + 1);
      if (refusal === undefined) return [];
      return [
        { original: namedOf(original), result: 'refused', lane: null, details: { to, code: refusal.code } },
      ];
    }),
  ];
}

/** Without the payload, so that it is not held until the whole page is stored. */
function namedOf({ id, topic }: Original): Named {
  return { id, topic };
}

function copyOf({ id, key, payload, contentType, headers }: Original): NewMessage {
  return {
    payload,
    ...(key !== null && { key }),
    ...(contentType !== 'application/json' && { contentType }),
    headers: { ...withoutChosenId(headers), 'outbox-replay-of': id },
  };
}

function replayed(original: Original, to: string, { id, workflowId }: StoreAnswer): Outcome {
  const [, lane] = /\/(\d+)$/.exec(workflowId) ?? [];
  return {
    original: namedOf(original),
    result: 'replayed',
    lane: lane === undefined ? null : Number(lane),
    details: { to, copy: id },
  };
}
