import { shellWord } from '../core/shell-word.ts';

/** Temporal rejects a summary of more than 400 bytes, and its UI shows one line. */
const longestSummaryBytes = 200;
const longestPartBytes = 80;
const dayMs = 24 * 60 * 60_000;

/** What the Temporal UI shows for a workflow: a line, and a text in Markdown. */
export interface WorkflowWords {
  readonly staticSummary: string;
  readonly staticDetails: string;
}

/** For a waiting message; without ref and key if its topic is not visible. */
export function messageWords(
  message: {
    readonly id: string;
    readonly topic: string;
    readonly key: string | null;
    readonly ref: string | null;
    readonly visible: boolean;
    readonly dueInMs: number;
  },
  nowMs = Date.now(),
): WorkflowWords {
  const { id, topic, visible } = message;
  const names = visible ? named(message) : [];
  const due = new Date(nowMs + message.dueInMs);
  return {
    staticSummary: summary([
      topic,
      ...names.map(([name, value]) => `${name} ${value}`),
      `due ${clock(due, nowMs)}`,
    ]),
    staticDetails: details(
      [['message', id], ['topic', topic], ...names, ['due', `${due.toISOString()}, unless it was moved`]],
      `temporal-outbox show ${id}`,
    ),
  };
}

/** For a lane with work. */
export function laneWords({ topic, lane }: { readonly topic: string; readonly lane: number }): WorkflowWords {
  return {
    staticSummary: summary([topic, `lane ${lane}`]),
    staticDetails: details(
      [
        ['topic', topic],
        ['lane', String(lane)],
      ],
      'temporal-outbox status',
    ),
  };
}

/** For a parked key; `key` null: it must not be shown. */
export function keyWords(
  parked: {
    readonly topic: string;
    readonly key: string | null;
    readonly group: string;
    readonly dueInMs: number;
  },
  nowMs = Date.now(),
): WorkflowWords {
  const { topic, group } = parked;
  const names = named({ key: parked.key, ref: null });
  const next = new Date(nowMs + Math.max(0, parked.dueInMs));
  return {
    staticSummary: summary([
      topic,
      ...names.map(([name, value]) => `${name} ${value}`),
      `parked by ${part(group)}`,
      `next try ${clock(next, nowMs)}`,
    ]),
    staticDetails: details(
      [['topic', topic], ['group', part(group)], ...names, ['next try', next.toISOString()]],
      `temporal-outbox inbox list --group ${shellWord(part(group))}`,
    ),
  };
}

/** For a bulk operation. */
export function bulkWords(id: string): WorkflowWords {
  return {
    staticSummary: 'Bulk operation',
    staticDetails: details([['operation', id]], `temporal-outbox bulk show ${id}`),
  };
}

function named({
  key,
  ref,
}: {
  readonly key: string | null;
  readonly ref: string | null;
}): readonly (readonly [string, string])[] {
  return [
    ...(ref === null ? [] : [['ref', part(ref)] as const]),
    ...(key === null ? [] : [['key', part(key)] as const]),
  ];
}

/** The time, with the date if it is not within a day. */
function clock(at: Date, nowMs: number): string {
  const text = `${at.toISOString().slice(0, 19)}Z`;
  return Math.abs(at.getTime() - nowMs) < dayMs ? text.slice(11) : text;
}

function summary(parts: readonly string[]): string {
  return cut(parts.join(', '), longestSummaryBytes);
}

function details(facts: readonly (readonly [string, string])[], command: string): string {
  const lines = facts.map(([name, value]) => `- ${name}: \`${value}\``);
  return [...lines, '', `The row decides: \`${command}\` shows its state.`].join('\n');
}

/** A foreign name as one line, without characters that end a code span. */
function part(text: string): string {
  return cut(text.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029`]/gu, '?'), longestPartBytes);
}

function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  // Drops a character that was cut in the middle.
  const kept = Buffer.from(text)
    .subarray(0, maxBytes - 3)
    .toString()
    .replace(/\ufffd+$/, '');
  return `${kept}…`;
}
