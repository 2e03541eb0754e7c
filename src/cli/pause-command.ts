import { capitalized } from '../core/capitalized.ts';
import { durationMs } from '../core/duration.ts';
import type { PauseScope } from '../operations/delivery/pause.ts';
import { withKnownNames } from '../operations/known-names.ts';
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
  readonly timeout?: string;
}

/** Pauses a topic or transport, and prints whether relays have stopped. */
export async function pauseCommand(
  topic: string | undefined,
  flags: PauseFlags,
  output: Output,
): Promise<number> {
  const scope = scopeOf(topic, flags);
  if (scope === undefined) return usageError(howToName, output);
  const timeout = timeoutOf(flags);
  if (timeout === 'invalid') return usageError('--timeout takes a duration such as 15s.', output);
  const refused = await refusedConsent(flags, `Pause ${nameOf(scope)}?`, output);
  if (refused !== undefined) return refused;
  const options = { ...optionsOf(flags), ...(timeout !== undefined && { timeout }) };
  const answer = await withOperations(flags, (at) =>
    withKnownNames(at, scope, () => at.pause(scope, options)),
  );
  const { changed, complete, stillDraining } = answer;
  const named = capitalized(nameOf(scope));
  const dryRun = flags.dryRun ?? false;
  output.line(
    dryRun
      ? `Nothing was changed. ${named} ${changed ? 'would be paused' : 'is already paused'}.`
      : `${named} ${changed ? 'is paused' : 'was already paused'}${complete ? ', and relays have stopped.' : '.'}`,
  );
  for (const { topic: of, lane, aliveUntil } of stillDraining)
    output.line(`  a relay still owns lane ${lane} of ${of}, with a lease until ${aliveUntil.toISOString()}`);
  output.value({ ok: complete || dryRun, dryRun, ...answer });
  return complete || dryRun ? exitCodes.ok : exitCodes.partial;
}

/** Ends the pause of a topic or transport. */
export async function resumeCommand(
  topic: string | undefined,
  flags: PauseFlags,
  output: Output,
): Promise<number> {
  const scope = scopeOf(topic, flags);
  if (scope === undefined) return usageError(howToName, output);
  const refused = await refusedConsent(flags, `Resume ${nameOf(scope)}?`, output);
  if (refused !== undefined) return refused;
  const { changed } = await withOperations(flags, (at) =>
    withKnownNames(at, scope, () => at.resume(scope, optionsOf(flags))),
  );
  const dryRun = flags.dryRun ?? false;
  const done = dryRun ? 'would be resumed' : 'is resumed';
  const before = dryRun ? 'Nothing was changed. ' : '';
  output.line(`${before}${capitalized(nameOf(scope))} ${changed ? done : 'was not paused'}.`);
  output.value({ ok: true, dryRun, changed });
  return exitCodes.ok;
}

const howToName = 'Name either a topic, or a transport with --transport.';

function scopeOf(topic: string | undefined, { transport }: PauseFlags): PauseScope | undefined {
  if (topic !== undefined) return transport === undefined ? { topic } : undefined;
  return transport === undefined ? undefined : { transport };
}

function nameOf(scope: PauseScope): string {
  return 'topic' in scope ? `the topic "${scope.topic}"` : `the transport "${scope.transport}"`;
}

/** The value of `--timeout`, `undefined` if not given. */
export function timeoutOf({ timeout }: Pick<PauseFlags, 'timeout'>): number | undefined | 'invalid' {
  if (timeout === undefined) return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  return durationMs(timeout as Parameters<typeof durationMs>[0]) ?? 'invalid';
}
