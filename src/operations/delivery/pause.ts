import type { Duration } from '../../core/duration.ts';
import { rest } from '../../core/rest.ts';
import type { Database } from '../../store/database/database.ts';
import {
  type LeasedLane,
  type PauseScope,
  readLanesOf,
  readLeasedLanes,
  setPaused,
} from '../../store/lane/pause.ts';
import { wakeLanes } from '../change.ts';
import { assertText, authorOf, durationOf, type OperationOptions } from '../operation-options.ts';

export type { PauseScope };

/** Options of a pause. */
export interface PauseOptions extends OperationOptions {
  /** How long to wait for relays to free their lanes, 0 or more. @defaultValue `'15s'` */
  readonly timeout?: Duration;
}

/** State of a pause. */
export interface PauseAnswer {
  /** False: it was already paused. */
  readonly changed: boolean;
  /** True if no relay owns a lane of it any more, and none will take one. */
  readonly complete: boolean;
  /** Lanes that relays still own: they finish what they are sending, and then stop. */
  readonly stillDraining: readonly LeasedLane[];
}

/** Result of a resume. */
export interface ResumeAnswer {
  /** False: it was not paused. */
  readonly changed: boolean;
}

const lookAgainMs = 25;

/**
 * Pauses a topic, or all topics of a transport, and waits until relays have freed its lanes. Meanwhile messages can be
 * sent, canceled and become due; none is delivered.
 *
 * @throws OutboxError `OUTBOX_TOPIC_UNKNOWN`, `OUTBOX_TRANSPORT_UNKNOWN`, `OUTBOX_OPTION_INVALID`
 */
export async function pause(
  database: Database,
  scope: PauseScope,
  options: PauseOptions,
): Promise<PauseAnswer> {
  assertScope(scope);
  const timeoutMs = durationOf('timeout', options.timeout, 15_000);
  const dryRun = options.dryRun ?? false;
  const { changed } = await setPaused(database, scope, true, authorOf(options), { dryRun });
  const stillDraining = dryRun
    ? await readLeasedLanes(database, scope)
    : await untilHandsAreEmpty(database, scope, timeoutMs);
  return { changed, complete: !dryRun && stillDraining.length === 0, stillDraining };
}

/**
 * Ends the pause, and wakes the relays. Other pauses of the topic (of its transport, or for a change of lanes) stay.
 *
 * @throws OutboxError `OUTBOX_TOPIC_UNKNOWN`, `OUTBOX_TRANSPORT_UNKNOWN`, `OUTBOX_OPTION_INVALID`
 */
export async function resume(
  database: Database,
  scope: PauseScope,
  options: OperationOptions,
): Promise<ResumeAnswer> {
  assertScope(scope);
  const dryRun = options.dryRun ?? false;
  const { changed } = await setPaused(database, scope, false, authorOf(options), { dryRun });
  if (!dryRun) await wakeLanes(database, await readLanesOf(database, scope));
  return { changed };
}

/**
 * Waits until no lane of a paused topic or transport has a valid lease, and returns the leases that are left when the time is
 * over. Once there is none, it stays so: a relay that takes a lane later sees the pause before it sends.
 */
export async function untilHandsAreEmpty(
  database: Database,
  scope: PauseScope,
  timeoutMs: number,
): Promise<readonly LeasedLane[]> {
  const until = performance.now() + timeoutMs;
  let nudged = '';
  for (;;) {
    const stillDraining = await readLeasedLanes(database, scope);
    if (stillDraining.length === 0 || performance.now() >= until) return stillDraining;
    // Idle drains see the pause as soon as they are woken; those that send will see it anyway.
    const names = JSON.stringify(stillDraining.map(({ topic, lane }) => [topic, lane]));
    if (names !== nudged) await wakeLanes(database, stillDraining);
    nudged = names;
    await rest(lookAgainMs);
  }
}

function assertScope(scope: PauseScope): void {
  if ('topic' in scope) assertText('topic', scope.topic, 200);
  else assertText('transport', scope.transport, 200);
}
