import { type BulkRunner, createBulkRunner } from '../bulk/bulk-runner.ts';
import { passCrashPoint } from '../core/crash-point.ts';
import { onlyMatching } from '../store/bulk/changes.ts';
import { finishWithdrawalPage, type PageResult, type WithdrawalPage } from '../store/bulk/page.ts';
import { resumeLeftPauses } from '../store/bulk/pauses.ts';
import type { Database } from '../store/database/database.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import type { Withdraw } from './ports.ts';
import type { RelayReport } from './report.ts';

export interface RelayBulkInput {
  readonly database: Database;
  readonly withdraw: Withdraw;
  readonly report: RelayReport;
}

/** Makes the runner of bulk operations on outbox messages. */
export function createRelayBulkRunner({ database, withdraw, report }: RelayBulkInput): BulkRunner {
  const runner = createBulkRunner({
    database,
    withdraw: withdrawPage,
    async paged(page) {
      if ((page.kind === 'more' || page.kind === 'done') && page.lanes.length > 0)
        await sendNudge(database, page.lanes).catch(() => undefined);
    },
    ended: (id, counts) => report({ type: 'bulk-ended', id, counts }),
    failed: (error) => report({ type: 'error', during: 'bulk', error }),
  });
  return {
    ...runner,
    async runPage(id, progress, signal) {
      const answer = await runner.runPage(id, progress, signal);
      // Left by a process that died during a page: no other page follows soon, or at all.
      if (answer.kind !== 'more') await resumeLeftPauses(database, id, undefined);
      return answer;
    },
    async abort(id, actor) {
      const aborted = await runner.abort(id, actor);
      await resumeLeftPauses(database, id, { actor });
      return aborted;
    },
  };

  async function withdrawPage(id: string, page: WithdrawalPage): Promise<PageResult> {
    try {
      if (page.ids.length > 0)
        await withdraw(page.ids, page.author, (change) => onlyMatching(page.filter, change));
      passCrashPoint('relay:bulk-withdrawn');
    } finally {
      // Left by a process that died during a page.
      await resumeLeftPauses(database, id, page.author);
    }
    return finishWithdrawalPage(database, id);
  }
}
