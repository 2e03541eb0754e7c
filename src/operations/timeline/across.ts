import { shellWord } from '../../core/shell-word.ts';
import type { GroupTrace } from '../../store/inbox/traces.ts';
import type { GroupLag } from '../../store/installation/relays.ts';
import { explainKept } from '../inbox/why.ts';
import type { Why } from '../messages/why.ts';
import { type GroupSide, hasTrace } from './group-entries.ts';

/** What both sides know of a message. */
export interface BothSides {
  readonly id: string;
  /** Why the outbox has not delivered it, or that it has; `null`: it has no such message. */
  readonly why: Why | null;
  /** Its row says that the broker has it. */
  readonly sent: boolean;
  /** Its topic, as far as it is known. */
  readonly topic: string | null;
  readonly sides: readonly GroupSide[];
  readonly lags: readonly GroupLag[];
}

/** The first reason why a message has no effect yet, on the way from its row to its last group. */
export function explainAcross(both: BothSides): Why | null {
  const { why, sent, sides } = both;
  if (why !== null && !sent) return why;
  return kept(both) ?? behind(both) ?? away(both) ?? handled(sides, why) ?? ended(both) ?? why;
}

const beginning = ({ why }: BothSides): string =>
  why === null ? 'The outbox has no such message' : 'It is published';

/** Failed ones first: nobody tries them again. */
function kept(both: BothSides): Why | undefined {
  const keepers = answers(both.sides).filter(({ trace: { kept: row } }) => isOpen(row));
  const first = keepers.find(({ trace }) => trace.kept?.state === 'failed') ?? keepers[0];
  if (first === undefined || first.trace.kept === null) return undefined;
  const { group, kept: row } = first.trace;
  const where = first.elsewhere === null ? '' : `, in its database at ${first.elsewhere}`;
  return {
    code: 'kept-by-group',
    text: `${beginning(both)}, but the group ${group} keeps it, ${row.state}. ${explainKept(row).text}`,
    next: `temporal-outbox inbox show ${shellWord(row.id)} --group ${shellWord(group)}${where}`,
  };
}

function isOpen(row: GroupTrace['kept']): boolean {
  return row !== null && (row.state === 'parked' || row.state === 'failed');
}

/** Only where a relay has seen that messages of the topic wait for the group. */
function behind({ lags, sides, topic }: BothSides): Why | undefined {
  for (const { trace } of answers(sides)) {
    const lag = lags.find((one) => one.group === trace.group && one.topic === topic);
    if (lag !== undefined && lag.messages > 0 && !hasTrace(trace))
      return {
        code: 'group-behind',
        text: `It is published, but the group ${trace.group} has not noted it: ${lag.messages} of the topic "${lag.topic}" wait for the group.`,
        next: 'temporal-outbox status',
      };
  }
  return undefined;
}

function away({ sides, why }: BothSides): Why | undefined {
  const first = sides.find((side) => side.kind === 'away');
  if (first === undefined) return undefined;
  const subject = why === null ? 'The outbox has no such message' : 'It is published';
  return {
    code: 'group-away',
    text: `${subject}; whether the group ${first.group} has handled it is not known: ${first.reason}`,
    next: 'Repeat it when that database answers.',
  };
}

function handled(sides: readonly GroupSide[], why: Why | null): Why | undefined {
  const groups = answers(sides)
    .filter(({ trace }) => trace.processed?.effect === 'committed' && trace.kept === null)
    .map(({ trace }) => trace.group);
  if (groups.length === 0) return undefined;
  const who = `${groups.length === 1 ? 'the group' : 'the groups'} ${groups.join(', ')}`;
  const text = why === null ? 'The outbox has no such message' : why.text.replace(/\.$/, '');
  const code = why === null || why.code === 'published' ? 'handled' : why.code;
  return { code, text: `${text}; ${who} committed the effect.` };
}

/** Only where no group had an effect: of several groups, one may be meant to drop it. */
function ended(both: BothSides): Why | undefined {
  for (const { trace } of answers(both.sides)) {
    const how = endOf(trace);
    if (how !== undefined)
      return {
        code: 'ended-by-group',
        text: `${beginning(both)}, but the group ${trace.group} has ended it without an effect: ${how}.`,
      };
  }
  return undefined;
}

function endOf({ kept: row, processed }: GroupTrace): string | undefined {
  if (row?.state === 'superseded') return `it was edited and replaced by ${row.supersededBy ?? 'a copy'}`;
  if (row?.state === 'discarded') return 'an operator discarded it';
  if (row !== null || processed === null) return undefined;
  if (processed.effect === 'expired') return 'it had expired';
  return processed.effect === 'none' ? 'it was kept, and then removed' : undefined;
}

function answers(sides: readonly GroupSide[]): readonly Extract<GroupSide, { kind: 'answered' }>[] {
  return sides.filter((side) => side.kind === 'answered');
}
