import ms from 'ms';
import type { Operations } from '../config/operations.ts';
import { rest } from '../core/rest.ts';
import type { BulkOperation } from '../operations/bulk.ts';
import { exitCodes, type Output } from './output.ts';
import { clip } from './printable.ts';
import { stopSignal } from './register.ts';

const lookEveryMs = 500;
const refusals = ['too-late', 'behind-key', 'unknown', 'busy', 'out-of-range'];

/** Tells how an operation stands that was just started, or its progress until it has ended. */
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
  output.value({ ok: true, bulk });
  return exitCodes.ok;
}

/** Tells the progress of an operation until it has ended, or the signal fires; the operation goes on then. */
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
      output.value({ ok: bulk.state === 'done', bulk });
      return ended ? exitCodeOf(bulk) : exitCodes.ok;
    }
    await rest(lookEveryMs, signal);
  }
}

/** Several lines about one operation. */
export function showStanding(bulk: BulkOperation): string {
  const { id, action, state, counts, actor, reason, lastError, etaMs, pending } = bulk;
  const answers = Object.entries(counts).map(([result, count]) => `${count} ${result}`);
  return [
    `${id}  ${action}  ${state}`,
    `  ${progressOf(bulk)}${etaMs === null || etaMs === 0 ? '' : `, ${ms(etaMs)} left at least`}`,
    ...(answers.length > 0 ? [`  answers: ${answers.join(', ')}`] : []),
    ...(pending > 0 ? [`  ${pending} are locked by others`] : []),
    ...(bulk.group === null ? [] : [`  of the group ${clip(bulk.group, 64)}`]),
    `  by ${clip(actor, 40)}: ${clip(reason, 88)}`,
    ...(lastError === null ? [] : [`  last error: ${clip(lastError, 86)}`]),
  ].join('\n');
}

/** What somebody should know who does not see its end. */
function goesOn({ id, group, state }: BulkOperation): string {
  const who = group === null ? 'Relays carry' : 'Consumers of the group carry';
  const how = state === 'running' ? `${who} it out, without this command.` : `It is ${state}.`;
  return `${how} How it stands: temporal-outbox bulk show ${id} --wait`;
}

/** 4 when some messages were refused, 1 when it did not come to its end. */
function exitCodeOf({ state, counts }: BulkOperation): number {
  if (state === 'aborted' || state === 'failed') return exitCodes.failed;
  return refusals.some((refusal) => (counts[refusal] ?? 0) > 0) ? exitCodes.partial : exitCodes.ok;
}

function progressOf({ state, answered, total, totalExact, progress }: BulkOperation): string {
  const share = progress === null ? '' : ` (${Math.floor(progress * 100)} %)`;
  const paused = state === 'paused' ? ', paused' : '';
  return `${answered} of ${totalExact ? '' : 'at least '}${total} messages${share}${paused}`;
}
