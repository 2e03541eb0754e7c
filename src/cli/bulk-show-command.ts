import ms from 'ms';
import type { Operations } from '../app/operations/operations.ts';
import { textOf } from '../core/reason.ts';
import { rest } from '../core/rest.ts';
import type { BulkOperation } from '../operations/bulk/steps.ts';
import { refusals } from '../operations/change.ts';
import { exitCodes, type Output } from './output.ts';
import { clip } from './printable.ts';
import { stopSignal } from './register.ts';

const lookEveryMs = 500;

/** Prints the state of an operation that was just started, or with `wait` its progress until it has ended. */
export async function tellStarted(
  at: Operations,
  id: string,
  wait: boolean,
  output: Output,
): Promise<number> {
  if (wait) return untilEnded(at, id, output, stopSignal());
  const bulk = await at.bulk.show(id);
  output.line(showStanding(bulk));
  if (bulk.finishedAt === null) output.line(goesOn(bulk));
  output.value({ ok: true, ...bulk });
  return exitCodes.ok;
}

/** Prints the progress of an operation until it has ended, or the signal fires, which does not end the operation. */
export async function untilEnded(
  at: Operations,
  id: string,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  let told = '';
  for (;;) {
    const bulk = await at.bulk.show(id);
    const now = progressOf(bulk);
    if (now !== told) output.line(now);
    told = now;
    const ended = bulk.finishedAt !== null || bulk.state === 'failed';
    if (ended || signal.aborted) {
      output.line(showStanding(bulk));
      if (!ended) output.line(goesOn(bulk));
      output.value({ ok: bulk.state === 'done', ...bulk });
      return ended ? exitCodeOf(bulk) : exitCodes.ok;
    }
    await rest(lookEveryMs, signal);
  }
}

/** Several lines about one operation. */
export function showStanding(bulk: BulkOperation): string {
  const { id, action, state, counts, createdAt, actor, reason, lastError, etaMs, pending } = bulk;
  const answers = Object.entries(counts).map(([result, count]) => `${count} ${result}`);
  return [
    `${id}  ${action}  ${state}`,
    `  filter: ${selectionOf(bulk)}; started ${createdAt.toISOString().slice(0, 16)}Z`,
    `  ${progressOf(bulk)}${etaMs === null || etaMs === 0 ? '' : `, at least ${ms(etaMs)} left`}`,
    ...(answers.length > 0 ? [`  answers: ${answers.join(', ')}`] : []),
    ...(pending > 0 ? [`  ${pending} are locked by others`] : []),
    ...(bulk.group === null ? [] : [`  of the group ${clip(bulk.group, 64)}`]),
    `  by ${clip(actor, 40)}: ${clip(reason, 88)}`,
    ...(lastError === null ? [] : [`  last error: ${clip(lastError, 86)}`]),
  ].join('\n');
}

/** The filter that chose the messages, as flags have it, such as `topic invoice, states failed`. */
export function selectionOf({ filter }: Pick<BulkOperation, 'filter'>): string {
  const parts = Object.entries(filter).flatMap(([name, value]) =>
    name === 'group' ? [] : [`${nameOf(name)} ${printed(value)}`],
  );
  return parts.length === 0 ? 'all messages' : clip(parts.join(', '), 80);
}

/** A condition as its flag is named: the reason of a kept message is not that of the operator. */
function nameOf(condition: string): string {
  if (condition === 'reason') return 'failed with';
  return condition.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function printed(value: unknown): string {
  if (Array.isArray(value)) return value.map(printed).join(',');
  return value instanceof Date ? value.toISOString() : textOf(value);
}

/** What to print if the command does not wait for the end. */
function goesOn({ id, group, state }: BulkOperation): string {
  const who = group === null ? 'Relays' : 'Consumers of the group';
  const how = state === 'running' ? `${who} run it in the background.` : `It is ${state}.`;
  return `${how} To follow it: temporal-outbox bulk show ${id} --wait`;
}

/** 4 if some messages were refused, 1 if it failed or was aborted. */
function exitCodeOf({ state, counts }: BulkOperation): number {
  if (state === 'aborted' || state === 'failed') return exitCodes.failed;
  return [...refusals].some((refusal) => (counts[refusal] ?? 0) > 0) ? exitCodes.partial : exitCodes.ok;
}

function progressOf({ state, answered, total, totalExact, progress }: BulkOperation): string {
  const share = progress === null ? '' : ` (${Math.floor(progress * 100)} %)`;
  const paused = state === 'paused' ? ', paused' : '';
  return `${answered} of ${totalExact ? '' : 'at least '}${total} messages${share}${paused}`;
}
