import { causeIn } from '../core/cause.ts';
import type { KeptList } from '../operations/list.ts';
import { type KeptFilterFlags, keptFilterOf } from './inbox-flags.ts';
import { unknownNames } from './known-names.ts';
import { withOperations } from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { clip, screenColumns } from './printable.ts';
import type { CommonFlags } from './register.ts';
import { table } from './table.ts';

export interface InboxListFlags extends CommonFlags, KeptFilterFlags {
  readonly limit?: string;
  readonly after?: string;
}

type Listed = KeptList['messages'][number];

/** Lists messages that consumers keep, latest first. */
export async function inboxListCommand(flags: InboxListFlags, output: Output): Promise<number> {
  const { limit, after } = flags;
  const { messages, next, wrongName } = await withOperations(flags, async (at) => {
    const listed = await at.inbox.list(keptFilterOf(flags), {
      ...(limit !== undefined && { limit: Number(limit) }),
      ...(after !== undefined && { after }),
    });
    const wrong = listed.messages.length === 0 ? await unknownNames(at, flags) : undefined;
    return { ...listed, wrongName: wrong };
  });
  if (wrongName !== undefined) return explain(wrongName, output);
  output.line(messages.length === 0 ? 'No messages.' : keptTable(messages, flags.group === undefined));
  if (next !== null) output.line(`\nThere may be more; continue with --after ${next}`);
  output.value({ ok: true, messages, next });
  return exitCodes.ok;
}

/** Below a message are its group, if several are listed, and its last error. */
export function keptTable(messages: readonly Listed[], withGroup: boolean): string {
  const rows = messages.map(({ id, state, key, reason, attempts }) => [
    id,
    state,
    key ?? '-',
    reason ?? '-',
    String(attempts),
  ]);
  const [head = '', ...lines] = table(['ID', 'STATE', 'KEY', 'REASON', 'TRIES'], rows).split('\n');
  const below = ({ group, topic, lastError }: Listed): readonly string[] => [
    ...(withGroup ? [`  group ${clip(group, 28)}, topic ${clip(topic, 28)}`] : []),
    ...(lastError === null ? [] : [`  ${clip(causeIn(lastError), screenColumns() - 2)}`]),
  ];
  return [head, ...messages.flatMap((message, n) => [lines[n] ?? '', ...below(message)])].join('\n');
}
