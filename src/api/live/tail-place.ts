import type { TailPlace } from '../../app/operations/served-operations.ts';
import { readJson } from '../../core/json.ts';
import { statedTime } from '../../core/written-time.ts';

/** Characters of a place; with many open transactions one is longer, and is not sent. */
const longest = 4_000;

/** A place as the id of an event; nothing if it would be too long for a header. */
export function textOfPlace({ since, snapshot }: TailPlace): string | undefined {
  const text = Buffer.from(JSON.stringify([new Date(since).toISOString(), snapshot])).toString('base64url');
  return text.length <= longest ? text : undefined;
}

/** The place that a client sends; nothing if it is none. It comes from anybody, so the database must be able to read it. */
export function placeOfText(text: string): TailPlace | undefined {
  if (text.length > longest) return undefined;
  const given = readJson(Buffer.from(text, 'base64url').toString());
  if (!isList(given)) return undefined;
  const [since, snapshot] = given;
  // No installation is older than this century.
  if (typeof since !== 'string' || !since.startsWith('2') || statedTime(since) === undefined)
    return undefined;
  if (typeof snapshot !== 'string') return undefined;
  return isSnapshot(snapshot) ? { since, snapshot } : undefined;
}

const isList = (given: unknown): given is readonly unknown[] => Array.isArray(given);

/** As PostgreSQL writes it: `xmin:xmax:`, and the transactions that ran between them, in order. */
function isSnapshot(text: string): boolean {
  const [, least, most, running] = /^(\d{1,18}):(\d{1,18}):(\d{1,18}(?:,\d{1,18})*)?$/.exec(text) ?? [];
  if (least === undefined || most === undefined) return false;
  const inOrder = [least, ...(running?.split(',') ?? [])].map(BigInt);
  const end = BigInt(most);
  const ascends = inOrder.every((one, index) => one > 0n && one >= (inOrder[index - 1] ?? 0n));
  return ascends && inOrder.every((one, index) => one < end || (index === 0 && one === end));
}
