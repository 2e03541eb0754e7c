import { causeIn } from '../core/cause.ts';
import type { MessageList } from '../operations/list.ts';
import { type FilterFlags, filterOf } from './filter-flags.ts';
import { unknownNames } from './known-names.ts';
import { withOperations } from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { clip, screenColumns } from './printable.ts';
import type { CommonFlags } from './register.ts';
import { table } from './table.ts';

export interface ListFlags extends CommonFlags, FilterFlags {
  readonly limit?: string;
  readonly after?: string;
}

type Listed = MessageList['messages'][number];

const heading = ['ID', 'TOPIC', 'STATE', 'STORED'];
/** Pages that are read to fill one answer; each reads a bounded number of rows. */
const maxPages = 20;

/** Lists messages, newest first. */
export async function listCommand(flags: ListFlags, output: Output): Promise<number> {
  const { messages, next, wrongName } = await withOperations(flags, async (at) => {
    const limit = flags.limit === undefined ? 50 : Number(flags.limit);
    const found: Listed[] = [];
    let after = flags.after;
    for (let page = 0; page < maxPages; page += 1) {
      const answer = await at.list(filterOf(flags), {
        limit: page === 0 ? limit : limit - found.length,
        ...(after !== undefined && { after }),
      });
      found.push(...answer.messages);
      after = answer.next ?? undefined;
      if (after === undefined || found.length >= limit) break;
    }
    const wrong = found.length === 0 ? await unknownNames(at, flags) : undefined;
    return { messages: found, next: after ?? null, wrongName: wrong };
  });
  if (wrongName !== undefined) return explain(wrongName, output);
  output.line(messages.length === 0 ? 'No messages.' : listTable(messages));
  if (next !== null) output.line(`\nThere may be more; continue with --after ${next}`);
  output.value({ ok: true, messages, next });
  return exitCodes.ok;
}

/** The key, the tries and the last error are below their message. */
function listTable(messages: readonly Listed[]): string {
  const [head = '', ...rows] = table(heading, messages.map(row)).split('\n');
  return [head, ...messages.flatMap((message, n) => [rows[n] ?? '', ...below(message)])].join('\n');
}

function row(message: Listed): string[] {
  return [message.id, message.topic, message.state, storedAt(message.createdAt)];
}

function below({ key, attempts, lastError, state }: Listed): readonly string[] {
  // Of a delivered message an error is history, which `show` tells.
  const delivered = state === 'published' || state === 'confirmed';
  const facts = [
    ...(key === null ? [] : [`key ${clip(key, 24)}`]),
    ...(attempts === 0 ? [] : [attempts === 1 ? '1 try' : `${attempts} tries`]),
    ...(lastError === null || delivered ? [] : [causeIn(lastError)]),
  ];
  return facts.length === 0 ? [] : [`  ${clip(facts.join(', '), screenColumns() - 2)}`];
}

/** Omits the current year. */
function storedAt(at: Date): string {
  const text = `${at.toISOString().slice(0, 16)}Z`;
  return text.slice(0, 4) === new Date().toISOString().slice(0, 4) ? text.slice(5) : text;
}
