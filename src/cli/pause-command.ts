import { durationMs } from '../core/duration.ts';
import type { PauseScope } from '../operations/pause.ts';
import {
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';

export interface PauseFlags extends OperatorFlags {
  readonly transport?: string;
  readonly within?: string;
}

/** Pauses a topic or transport and tells whether relays have let go. */
export async function pauseCommand(
  topic: string | undefined,
  flags: PauseFlags,
  output: Output,
): Promise<number> {
  const scope = scopeOf(topic, flags);
  if (scope === undefined) return usageError(howToName, output);
  const timeout = withinOf(flags);
  if (timeout === 'invalid') return usageError('--within takes a time such as 15s.', output);
  const refused = await refusedConsent(flags, `Pause ${nameOf(scope)}?`, output);
  if (refused !== undefined) return refused;
  const answer = await withOperations(flags, (at) =>
    at.pause(scope, { ...optionsOf(flags), ...(timeout !== undefined && { timeout }) }),
  );
  const { changed, complete, holding } = answer;
  const dryRun = flags.dryRun ?? false;
  output.line(
    dryRun
      ? `Nothing was changed. ${nameOf(scope)} ${changed ? 'would be paused' : 'is paused already'}.`
      : `${nameOf(scope)} ${changed ? 'is paused' : 'was paused already'}${complete ? ', and no relay has it in hand.' : '.'}`,
  );
  for (const { topic: of, lane, aliveUntil } of holding)
    output.line(
      `  a relay still holds lane ${lane} of ${of}, and was last heard of for the time until ${aliveUntil.toISOString()}`,
    );
  output.value({ ok: complete || dryRun, dryRun, ...answer });
  return complete || dryRun ? exitCodes.ok : exitCodes.partial;
}

/** Takes the pause of a topic or transport away. */
export async function resumeCommand(
  topic: string | undefined,
  flags: PauseFlags,
  output: Output,
): Promise<number> {
  const scope = scopeOf(topic, flags);
  if (scope === undefined) return usageError(howToName, output);
  const refused = await refusedConsent(flags, `Resume ${nameOf(scope)}?`, output);
  if (refused !== undefined) return refused;
  const { changed } = await withOperations(flags, (at) => at.resume(scope, optionsOf(flags)));
  const dryRun = flags.dryRun ?? false;
  const done = dryRun ? 'would be resumed' : 'is resumed';
  output.line(`${nameOf(scope)} ${changed ? done : 'was not paused'}.`);
  output.value({ ok: true, dryRun, changed });
  return exitCodes.ok;
}

const howToName = 'Name a topic, or a transport by --transport.';

function scopeOf(topic: string | undefined, { transport }: PauseFlags): PauseScope | undefined {
  if (topic !== undefined) return transport === undefined ? { topic } : undefined;
  return transport === undefined ? undefined : { transport };
}

function nameOf(scope: PauseScope): string {
  return 'topic' in scope ? `the topic "${scope.topic}"` : `the transport "${scope.transport}"`;
}

/** The time of `--within`, undefined where it is not given. */
export function withinOf({ within }: Pick<PauseFlags, 'within'>): number | undefined | 'invalid' {
  if (within === undefined) return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  return durationMs(within as Parameters<typeof durationMs>[0]) ?? 'invalid';
}
