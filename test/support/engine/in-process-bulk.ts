import type { BulkPageAnswer } from '../../../src/bulk/bulk-runner.ts';
import type { Run } from './in-process-runs.ts';

/** The workflow of a bulk operation. */
export async function runPages(run: Run, page: () => Promise<BulkPageAnswer>): Promise<void> {
  for (;;) {
    const answer = await page();
    if (answer.kind === 'ended') return;
    await run.sleep(answer.kind === 'more' ? answer.waitMs : 1_000);
  }
}
