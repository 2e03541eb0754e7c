import type { Client } from '@temporalio/client';
import { looking } from '../../core/loop.ts';
import { rest } from '../../core/rest.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { MaintenanceIntervals } from '../../relay/timings.ts';
import { readNamespaceId, settleMs } from '../namespace-look.ts';
import { ensureSchedules } from './schedules.ts';

export interface ScheduleKeeperInput {
  readonly client: Client;
  readonly installation: string;
  readonly intervals: MaintenanceIntervals;
  readonly report: RelayReport;
  /** Called when the namespace was deleted and recreated: long polls of the old one go on for a minute without receiving tasks. */
  readonly onNamespaceReplaced: () => void;
}

/** Between looks at the namespace, and after a check that failed because Temporal is away. */
const lookEveryMs = 5_000;

/**
 * Checks regularly that the schedules of the maintenance exist, and recreates them if they, or the whole namespace, were
 * deleted. Any number of relays may do so; with different intervals the last check decides.
 */
export function keepSchedules(input: ScheduleKeeperInput): { stop(): Promise<void> } {
  const { intervals } = input;
  const keeper = new ScheduleKeeper(input);
  const looks = looking(
    (stopping) => keeper.look(stopping),
    Math.min(lookEveryMs, intervals.scheduleCheckIntervalMs),
  );
  looks.start();
  return looks;
}

class ScheduleKeeper {
  readonly #input: ScheduleKeeperInput;
  #namespaceId: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(input: ScheduleKeeperInput) {
    this.#input = input;
  }

  /** Never rejects. */
  async look(stopping: AbortSignal): Promise<void> {
    try {
      await this.#look(stopping);
    } catch (error) {
      if (!stopping.aborted) this.#input.report({ type: 'error', during: 'schedules', error });
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, installation, intervals, onNamespaceReplaced } = this.#input;
    const before = this.#namespaceId;
    this.#namespaceId = await readNamespaceId(client);
    if (before !== undefined && before !== this.#namespaceId) {
      await rest(settleMs, signal);
      if (signal.aborted) return;
      onNamespaceReplaced();
      this.#checkedAt = Number.NEGATIVE_INFINITY;
    }
    if (performance.now() - this.#checkedAt < intervals.scheduleCheckIntervalMs) return;
    await ensureSchedules(client, installation, intervals);
    this.#checkedAt = performance.now();
  }
}
