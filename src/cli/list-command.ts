import type { Operations } from '../app/operations/operations.ts';
import { causeIn } from '../core/cause.ts';
import { unknownNames } from '../operations/known-names.ts';
import type { KeptList, ListPageOptions, MessageList } from '../operations/list.ts';
import { type FilterFlags, filterOf, keptFilterOf } from './filter-flags.ts';
import { wholeOfFlag } from './flag-values.ts';
import { withOperations } from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { clip, screenColumns } from './printable.ts';
import type { CommonFlags } from './register.ts';
import { tableWith } from './table.ts';

export interface ListFlags extends CommonFlags, FilterFlags {
  readonly limit?: string;
  readonly after?: string;
}

export interface KeptListFlags extends ListFlags {
  readonly head?: boolean;
}

type Listed = MessageList['messages'][number];
type Kept = KeptList['messages'][number];

/** Pages that are read to fill one answer; each reads a bounded number of rows. */
const maxPages = 20;

/** Lists messages of the outbox, newest first. */
export function listCommand(flags: ListFlags, output: Output): Promise<number> {
  const read = (at: Operations, page: ListPageOptions) => at.list(filterOf(flags), page);
  return listAll(flags, output, read, listTable);
}

/** Lists messages that consumers keep, latest first. */
export function keptListCommand(flags: KeptListFlags, output: Output): Promise<number> {
  const { group, head } = flags;
  const filter = {
    ...keptFilterOf(flags),
    ...(group !== undefined && { group }),
    ...(head !== undefined && { head }),
  };
  const read = (at: Operations, page: ListPageOptions) => at.inbox.list(filter, page);
  return listAll(flags, output, read, (messages) => keptTable(messages, group === undefined));
}

async function listAll<One>(
  flags: ListFlags,
  output: Output,
  read: (at: Operations, page: ListPageOptions) => Promise<MessageList<One>>,
  tableOf: (messages: readonly One[]) => string,
): Promise<number> {
  const { messages, next, wrongName } = await withOperations(flags, async (at) => {
    const limit = wholeOfFlag('limit', flags.limit ?? '50');
    const found: One[] = [];
    let after = flags.after;
    for (let page = 0; page < maxPages; page += 1) {
      const answer = await read(at, {
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
  output.line(messages.length === 0 ? 'No messages.' : tableOf(messages));
  if (next !== null) output.line(`\nThere may be more; continue with --after ${next}`);
  output.value({ ok: true, messages, next });
  return exitCodes.ok;
}

/** What {@link factsOf} says is below its message. */
function listTable(messages: readonly Listed[]): string {
  return tableWith(['ID', 'TOPIC', 'STATE', 'STORED'], messages, row, below);
}

function row(message: Listed): string[] {
  return [message.id, message.topic, message.state, minuteOf(message.createdAt)];
}

function below(message: Listed): readonly string[] {
  const facts = factsOf(message);
  return facts === '' ? [] : [`  ${clip(facts, screenColumns() - 2)}`];
}

/** States that end when the message is due. */
const pending: ReadonlySet<string> = new Set(['waiting', 'retrying']);

/** The key, the ref, the due time, the tries and the last error of a message. */
export function factsOf({ key, ref, attempts, dueAt, lastError, state }: Listed): string {
  // An error of a delivered message is history: `show` prints it.
  const delivered = state === 'published' || state === 'confirmed';
  const facts = [
    ...(key === null ? [] : [`key ${clip(key, 24)}`]),
    ...(ref === null ? [] : [`ref ${clip(ref, 40)}`]),
    ...(dueAt !== null && pending.has(state) ? [`due ${minuteOf(dueAt)}`] : []),
    ...(attempts === 0 ? [] : [attempts === 1 ? '1 try' : `${attempts} tries`]),
    ...(lastError === null || delivered ? [] : [causeIn(lastError)]),
  ];
  return facts.join(', ');
}

/** Omits the current year. */
function minuteOf(at: Date): string {
  const text = `${at.toISOString().slice(0, 16)}Z`;
  return text.slice(0, 4) === new Date().toISOString().slice(0, 4) ? text.slice(5) : text;
}

/** Below a message are its group, if several are listed, and its last error. */
export function keptTable(messages: readonly Kept[], withGroup: boolean): string {
  return tableWith(
    ['ID', 'STATE', 'KEY', 'REASON', 'TRIES'],
    messages,
    ({ id, state, key, reason, attempts }) => [id, state, key ?? '-', reason ?? '-', String(attempts)],
    ({ group, topic, lastError }) => [
      ...(withGroup ? [`  group ${clip(group, 28)}, topic ${clip(topic, 28)}`] : []),
      ...(lastError === null ? [] : [`  ${clip(causeIn(lastError), screenColumns() - 2)}`]),
    ],
  );
}
