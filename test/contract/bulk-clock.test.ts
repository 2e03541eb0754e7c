import { expect, test } from 'vitest';
import { wantedBulks } from '../../src/store/bulk/starts.ts';
import { bulkBenches } from '../support/fixtures/bulk-bench.ts';
import { ada } from '../support/fixtures/operator.ts';

const failed = { states: ['failed'] } as const;

for (const [of, open] of bulkBenches()) {
  test(`${of}: a clock that was set back by an hour does not stop an operation`, {
    tags: ['set-back-clock-stops-no-bulk'],
  }, async (end) => {
    const bench = await open(end);
    await bench.fail(['A', 'B', 'C']);
    const { id } = await bench.start(failed, 'discard', { ...ada, ratePerSecond: 1 });
    const known = id ?? '';
    const page = () => bench.runner.runPage(known, () => undefined);
    await page();
    await bench.database.query(
      `update outbox.bulk_operation set next_page_at = next_page_at + interval '1 hour'`,
    );

    const answer = await page();

    const aSecond = expect.toSatisfy((ms: number) => ms > 0 && ms <= 1_000);
    expect(answer).toEqual({ kind: 'more', waitMs: aSecond });
    expect(await bench.steps.show(known)).toMatchObject({ counts: { discarded: 2 } });
  });

  test(`${of}: a clock that was set back by an hour does not prolong the patience with locked messages`, {
    tags: ['set-back-clock-stops-no-bulk'],
  }, async (end) => {
    const bench = await open(end);
    await bench.fail(['A']);
    const holder = await bench.lock('A');
    end.onTestFinished(() => holder.release());
    const { id } = await bench.start(failed, 'discard', ada);
    const page = () => bench.runner.runPage(id ?? '', () => undefined);
    await page();
    await bench.database.query(
      `update outbox.bulk_operation set pending_since = pending_since + interval '1 hour'`,
    );

    await page();

    const rows = await bench.database.query(
      'select pending, pending_since <= clock_timestamp() as past from outbox.bulk_operation',
    );
    expect(rows).toEqual([{ pending: [bench.idOf('A')], past: true }]);
  });

  test(`${of}: a clock that was set back by an hour does not keep a lost workflow from being started again`, {
    tags: ['set-back-clock-stops-no-bulk'],
  }, async (end) => {
    const bench = await open(end);
    await bench.fail(['A']);
    const { id } = await bench.start(failed, 'discard', ada);
    const [row] = await bench.database.query<{ group: string | null }>(
      'select consumer_group as "group" from outbox.bulk_operation',
    );
    const wanted = async () => {
      const bulks = await wantedBulks(bench.database, row?.group ?? null);
      return bulks.map((bulk) => bulk.id);
    };
    expect(await wanted()).toEqual([id]);
    expect(await wanted()).toEqual([]);
    await bench.database.query(
      `update outbox.bulk_operation set told_at = told_at + interval '1 hour', updated_at = updated_at + interval '1 hour'`,
    );

    expect(await wanted()).toEqual([id]);

    // No page has been done since, so the time of the last one is still ahead.
    expect(await wanted()).toEqual([]);
  });
}
