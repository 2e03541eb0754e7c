import { setTimeout as delay } from 'node:timers/promises';
import type { ReportProgress } from '../local-options.ts';
import { removeContainer } from '../providers/docker.ts';
import { isRunning, type ProcessIdentity, processSpace, startedAtOf } from './process-identity.ts';
import { decideReap, readRunRecords, removeRun } from './run-record.ts';

const cleanEndWithinMs = 5_000;
const pollEveryMs = 50;

/**
 * Stops the servers whose parent process is gone and removes their temporary data.
 *
 * A parent that exits normally, or by SIGINT, SIGTERM or SIGHUP, stops its servers itself; one that is killed cannot.
 */
export async function reapAbandoned(cache: string, tell: ReportProgress): Promise<void> {
  const table = { space: processSpace(), startedAtOf };
  await Promise.all(
    readRunRecords(cache).map(async (record) => {
      const decision = decideReap(record, table);
      if (decision === 'leave') return;
      tell(`Removing ${record.server} left by process ${record.parent.pid}, which is gone`);
      if (decision === 'kill' && record.child !== undefined)
        await endProcess(record.child, record.stopSignal);
      removeContainer(record.container, record.volume);
      removeRun(cache, record.id);
    }),
  );
}

/** Sends the stop signal to the leader of a process group, and kills the group if it does not end. */
async function endProcess(child: ProcessIdentity, stopSignal: NodeJS.Signals): Promise<void> {
  trySignal(child.pid, stopSignal);
  trySignal(child.pid, 'SIGCONT'); // a frozen process would not handle the signal
  const giveUpAtMs = performance.now() + cleanEndWithinMs;
  while (isRunning(child)) {
    if (performance.now() > giveUpAtMs) trySignal(-child.pid, 'SIGKILL');
    await delay(pollEveryMs);
  }
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}
