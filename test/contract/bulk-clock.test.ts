import { expect, test } from 'vitest';
import { bulkBenches } from '../support/fixtures/bulk-bench.ts';
import { ada } from '../support/fixtures/operator.ts';

const failed = { states: ['failed'] } as const;

for (const [of, open] of bulkBenches) {
  test(`${of}: a clock that was set back by an hour does not stop an operation`, async (end) => {
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

  test(`${of}: a clock that was set back by an hour does not prolong the patience with locked messages`, async (end) => {
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
}
