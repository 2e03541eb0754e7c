import process, { stderr } from 'node:process';
import { expect, test, vi } from 'vitest';
import { claimed, pagesBehind, pasts } from '../support/fixtures/old-snapshot.ts';

vi.setConfig({ testTimeout: 3_600_000 });

/** What an hour of a busy topic leaves behind a report; ten times that if `SCALE` says so. */
const many = 2_000_000 * Number(process.env['SCALE'] ?? 0.1);
const few = 100;
/** Three pages deeper than the small one, in each index that a claim descends into. */
const deeper = 40;

test.each(Object.keys(pasts))(
  'a claim of a quiet lane costs as little behind hundreds of thousands of %s and an old snapshot',
  { tags: ['history-slows-nothing'] },
  async (past) => {
    const claim = { claim: { work: claimed } };
    const { claim: least = Number.NaN } = await pagesBehind(past, few, claim);
    const { claim: most = Number.NaN } = await pagesBehind(past, many, claim);

    stderr.write(`a claim behind ${few} ${past}: ${least} pages; behind ${many}: ${most}\n`);
    expect(most).toBeLessThan(least + deeper);
  },
);
