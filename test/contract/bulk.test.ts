import { expect, test } from 'vitest';
import { setTrap } from '../../src/core/crash-point.ts';
import { type BulkBench, bulkBenches } from '../support/fixtures/bulk-bench.ts';
import { untilLockWaits } from '../support/fixtures/lock-waits.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { ada } from '../support/fixtures/operator.ts';

const failed = { states: ['failed'] } as const;

/** The next page, whose answer is dropped. */
function page({ runner }: BulkBench, id: string) {
  return runner.runPage(id, () => undefined);
}

/** Runs pages until there is nothing left to do, without the waits between them. */
async function run(bench: BulkBench, id: string | null): Promise<void> {
  const known = id ?? '';
  for (;;) {
    await bench.database.query('update outbox.bulk_operation set next_page_at = now()');
    const answer = await page(bench, known);
    if (answer.kind !== 'more') return;
  }
}

for (const [of, open] of bulkBenches()) {
  test(`${of}: a dry run counts and shows the first ten, and writes nothing`, async (end) => {
    const bench = await open(end);
    const labels = Array.from({ length: 12 }, (_, n) => `F${n}`);
    await bench.fail(labels);

    const answer = await bench.start(failed, 'retry', { ...ada, dryRun: true });

    expect(answer).toMatchObject({ id: null, state: null, count: 12, exact: true });
    expect(answer.sample.map(({ id }) => id)).toEqual(labels.slice(0, 10).map((label) => bench.idOf(label)));
    expect(await bench.steps.list()).toEqual([]);
    expect(await bench.auditedActions()).toEqual([]);
  });

  test(`${of}: a filter that matches nothing ends at once and is audited`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A']);

    const { id, ...answer } = await bench.start({ key: 'none' }, 'retry', ada);

    expect(answer).toMatchObject({ state: 'done', count: 0, exact: true });
    expect(await bench.steps.show(id ?? '')).toMatchObject({ state: 'done', progress: 1, counts: {} });
    expect(await bench.auditedActions()).toEqual(['bulk-start']);
  });

  test(`${of}: only matches are changed, each with one audit entry, and the other side lists nothing`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B']);
    await bench.fail(['C'], 'L');

    const { id } = await bench.start({ key: 'K' }, 'discard', ada);
    const known = id ?? '';
    expect(await bench.steps.show(known)).toMatchObject({ state: 'running', total: 2, progress: 0, ...ada });
    await run(bench, id);

    expect(await bench.steps.show(known)).toMatchObject({
      state: 'done',
      counts: { discarded: 2 },
      answered: 2,
    });
    expect(await bench.states('A', 'B', 'C')).toEqual(['discarded', 'discarded', 'failed']);
    expect(await bench.audited(known)).toEqual(['A', 'B'].map((label) => bench.idOf(label)).toSorted());
    expect(bench.ended).toEqual([id]);
    expect(await bench.steps.list()).toMatchObject([{ id }]);
    expect(await bench.others.list()).toEqual([]);
    expect(await bench.others.show(known)).toMatchObject({ id });
  });

  test(`${of}: messages that arrive after the start are not changed`, async (end) => {
    const bench = await open(end);
    await bench.fail(['before']);
    const { id } = await bench.start(failed, 'discard', ada);
    await bench.fail(['after']);
    await run(bench, id);

    expect(await bench.states('before', 'after')).toEqual(['discarded', 'failed']);
    expect(await bench.steps.show(id ?? '')).toMatchObject({ counts: { discarded: 1 } });
  });

  test(`${of}: a message that no longer matches when its page is processed is not changed`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B']);
    const { id } = await bench.start(failed, 'discard', ada);
    await bench.retry('A');
    await run(bench, id);

    expect(await bench.steps.show(id ?? '')).toMatchObject({ counts: { discarded: 1 } });
    expect((await bench.states('A', 'B'))[0]).not.toBe('discarded');
  });

  test(`${of}: a locked message is retried until it is free, and finally counted as busy`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B', 'C']);
    const holders = [await bench.lock('A'), await bench.lock('B')];
    const { id } = await bench.start(failed, 'discard', ada);
    const known = id ?? '';

    expect(await page(bench, known)).toMatchObject({ kind: 'more' });
    expect(await bench.steps.show(known)).toMatchObject({ pending: 2, counts: { discarded: 1 } });
    await holders[0]?.release();
    expect(await page(bench, known)).toMatchObject({ kind: 'more' });
    expect(await bench.steps.show(known)).toMatchObject({ pending: 1, counts: { discarded: 2 } });
    // Thirty seconds of patience are over.
    await bench.database.query(
      `update outbox.bulk_operation set pending_since = pending_since - interval '31 seconds'`,
    );
    await run(bench, id);
    await holders[1]?.release();

    expect(await bench.steps.show(known)).toMatchObject({
      state: 'done',
      pending: 0,
      counts: { discarded: 2, busy: 1 },
    });
    expect(await bench.states('A', 'B', 'C')).toEqual(['discarded', 'failed', 'discarded']);
  });

  test(`${of}: a locked message that no longer matches when it is free is too late`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B']);
    const holder = await bench.lock('A');
    const { id } = await bench.start(failed, 'discard', ada);
    await page(bench, id ?? '');
    await holder.release();
    await bench.retry('A');
    await run(bench, id);

    expect(await bench.steps.show(id ?? '')).toMatchObject({ counts: { discarded: 1, 'too-late': 1 } });
    expect((await bench.states('A', 'B'))[0]).not.toBe('discarded');
  });

  test(`${of}: nothing is started if the number of matches differs from the expected one, or an option is invalid`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B']);

    await expect(bench.start(failed, 'discard', { ...ada, expect: 3 })).rejects.toMatchObject({
      code: 'OUTBOX_BULK_UNEXPECTED',
      message: '3 messages are expected, but 2 match. Nothing was started.',
      details: { count: 2 },
    });
    for (const [filter, option] of [
      [{}, 'filter'],
      [{ states: ['superseded'] as unknown as ['failed'] }, 'states'],
    ] as const)
      await expect(bench.start(filter, 'discard', ada)).rejects.toMatchObject({
        code: 'OUTBOX_OPTION_INVALID',
        details: { option },
      });
    await expect(bench.start(failed, 'discard', { ...ada, ratePerSecond: 0 })).rejects.toMatchObject({
      details: { option: 'ratePerSecond' },
    });
    await expect(bench.start(failed, 'edit' as 'retry', ada)).rejects.toMatchObject({
      details: { option: 'action' },
    });
    expect(await bench.steps.list()).toEqual([]);
    await bench.start(failed, 'discard', { ...ada, expect: 2 });
    expect(await bench.steps.list()).toMatchObject([{ total: 2, totalExact: true }]);
  });

  test(`${of}: an operation can be paused, resumed and aborted, and its changes remain`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B', 'C']);
    const { id } = await bench.start(failed, 'discard', { ...ada, ratePerSecond: 1 });
    const known = id ?? '';
    expect(await page(bench, known)).toMatchObject({ kind: 'more' });
    const rested = await bench.database.query<{ seconds: number }>(
      'select extract(epoch from next_page_at - created_at)::float8 as seconds from outbox.bulk_operation',
    );
    expect(rested[0]?.seconds, 'one a second').toBeGreaterThanOrEqual(1);
    await bench.database.query(`update outbox.bulk_operation set next_page_at = now() + interval '30 s'`);
    const halfMinute = expect.toSatisfy((ms: number) => ms > 0 && ms <= 30_000);
    expect(await page(bench, known)).toEqual({ kind: 'more', waitMs: halfMinute });
    expect(await bench.steps.show(known)).toMatchObject({ answered: 1, etaMs: 2_000 });

    expect(await bench.steps.pause(known, { ...ada, dryRun: true })).toEqual({
      changed: true,
      state: 'paused',
    });
    expect(await bench.steps.pause(known, ada)).toEqual({ changed: true, state: 'paused' });
    expect(await page(bench, known)).toEqual({ kind: 'resting', state: 'paused' });
    expect(await bench.steps.resume(known, ada)).toEqual({ changed: true, state: 'running' });
    expect(await bench.steps.abort(known, ada)).toEqual({ changed: true, state: 'aborted' });
    expect(await page(bench, known)).toEqual({ kind: 'ended', state: 'aborted', counts: { discarded: 1 } });
    expect(await bench.steps.resume(known, ada)).toEqual({ changed: false, state: 'aborted' });

    expect(await bench.states('A', 'B', 'C')).toEqual(['discarded', 'failed', 'failed']);
    expect(await bench.auditedActions()).toEqual([
      'bulk-start',
      'discard',
      'bulk-pause',
      'bulk-resume',
      'bulk-abort',
      'bulk-resume',
    ]);
  });

  test(`${of}: canceling the workflow aborts the operation`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A']);
    const { id } = await bench.start(failed, 'discard', ada);

    expect(await bench.runner.abort(id ?? '', 'temporal-ui')).toBe(true);

    expect(await bench.steps.show(id ?? '')).toMatchObject({ state: 'aborted' });
    expect(await bench.states('A')).toEqual(['failed']);
  });

  test(`${of}: a page that fails before its commit changes nothing, and the next one does all of it`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B']);
    const { id } = await bench.start(failed, 'discard', ada);
    const known = id ?? '';
    const undo = setTrap('bulk:page-open', () => {
      throw new Error('gone');
    });
    end.onTestFinished(async () => {
      undo();
    });

    await expect(page(bench, known)).rejects.toThrow('gone');
    undo();
    expect(await bench.steps.show(known)).toMatchObject({ answered: 0, lastError: 'gone' });
    expect(await bench.states('A', 'B')).toEqual(['failed', 'failed']);
    expect(await bench.audited(known)).toEqual([]);

    await run(bench, id);
    expect(await bench.steps.show(known)).toMatchObject({ counts: { discarded: 2 }, lastError: null });
  });

  test(`${of}: an operation whose page fails ten times in a row waits for an operator, who can resume it`, async (end) => {
    const bench = await open(end);
    await bench.fail(['A']);
    const { id } = await bench.start(failed, 'discard', ada);
    const known = id ?? '';
    const { json, name } = bench.brokenFilter;
    await bench.database.query('update outbox.bulk_operation set filter = filter || $1::text::jsonb', [json]);

    for (let n = 1; n < 10; n += 1) await expect(page(bench, known)).rejects.toThrow('never');
    expect(await page(bench, known)).toEqual({ kind: 'resting', state: 'failed' });
    expect(bench.failures).toHaveLength(10);
    expect((await bench.steps.show(known)).lastError).toContain('never');
    await bench.database.query('update outbox.bulk_operation set filter = filter - $1::text', [name]);
    expect(await bench.steps.resume(known, ada)).toEqual({ changed: true, state: 'running' });
    expect(await page(bench, known)).toEqual({ kind: 'ended', state: 'done', counts: { discarded: 1 } });
    expect(await bench.steps.show(known)).toMatchObject({ lastError: null });
  });

  test(`${of}: I14 two workers of one operation of 2,500 take turns, and each message is changed once`, async (end) => {
    const bench = await open(end);
    await bench.failMany(2_500);
    const { id } = await bench.start(failed, 'retry', { ...ada, ratePerSecond: 10_000 });
    const known = id ?? '';
    /** Both request the next page at the same moment: they queue behind a process that has the operation in hand. */
    const runBoth = async (): Promise<readonly string[]> => {
      // The rate allows the next page later than a quiet machine ends this one.
      await bench.database.query(
        `update outbox.bulk_operation set next_page_at = now() - interval '1 minute' where id = $1`,
        [known],
      );
      const holder = await openTransaction(bench.url);
      await holder.query('select from outbox.bulk_operation where id = $1 for update', [known]);
      const running = Promise.all([page(bench, known), page(bench, known)]);
      // A failure here is reported below.
      running.catch(() => undefined);
      try {
        await untilLockWaits(bench.database, 2);
      } finally {
        await holder.rollback();
      }
      return (await running).map(({ kind }) => kind);
    };

    expect(await runBoth()).toEqual(['more', 'more']);
    expect((await bench.steps.show(known)).answered, 'a page of each').toBe(2_000);
    while ((await runBoth()).includes('more'));

    expect(await bench.steps.show(known)).toMatchObject({ state: 'done', counts: { retried: 2_500 } });
    const ids = await bench.audited(known);
    expect(ids).toHaveLength(2_500);
    expect(new Set(ids).size).toBe(2_500);
  });
}
