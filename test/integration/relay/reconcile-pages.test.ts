import { expect, test } from 'vitest';
import type { WorkflowCensus } from '../../../src/relay/ports.ts';
import { type ReconcileInput, reconcileWorkflows } from '../../../src/relay/reconcile.ts';
import { markTold, untoldMessages } from '../../../src/store/lane/starts.ts';
import { readReconciliation } from '../../../src/store/verify/reconciliation.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';

/** Workflows in memory, with an index that may lag behind them, in pages of three. */
class Workflows implements WorkflowCensus {
  readonly running: Set<string>;
  /** What the index says; undefined: the truth. */
  indexed: Set<string> | undefined;
  readonly ended: string[] = [];
  readonly pages: string[] = [];
  /** As it was at the first page. */
  #listed: readonly string[] = [];

  constructor(ids: readonly string[]) {
    this.running = new Set(ids);
  }

  get #index(): readonly string[] {
    return [...(this.indexed ?? this.running)];
  }

  countRunning = async () => this.#index.length;

  async listRunning(page: string) {
    this.pages.push(page);
    if (page === '') this.#listed = this.#index;
    if (page !== '' && !/^\d+$/.test(page)) throw new Error('stale');
    const from = Number(page);
    const ids = this.#listed.slice(from, from + 3);
    return from + 3 < this.#listed.length ? { ids, next: String(from + 3) } : { ids };
  }

  findRunning = async (ids: readonly string[]) => new Set(ids.filter((id) => this.#index.includes(id)));

  isRunning = async (id: string) => this.running.has(id);

  async end(id: string) {
    if (this.running.delete(id)) this.ended.push(id);
    return this.ended.includes(id);
  }
}

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** Sends waiting messages whose workflows have been started. */
async function told(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await fixture.send(`m${n}`, { afterMs: 60_000 + n }));
  await markTold(fixture.database, await untoldMessages(fixture.database, count));
  return ids;
}

function run(census: WorkflowCensus, input: Partial<ReconcileInput> = {}) {
  const signal = new AbortController().signal;
  return reconcileWorkflows({
    database: fixture.database,
    census,
    signal,
    progress: () => undefined,
    ...input,
  });
}

const untold = async () => (await untoldMessages(fixture.database, 100)).map(({ id }) => id);

async function finish(id: string, ago: string, state = 'canceled'): Promise<void> {
  await fixture.database.query(
    `update outbox.message set state = 'ready' where id = $1 and $2 <> 'canceled'`,
    [id, state],
  );
  await fixture.database.query(
    `update outbox.message set state = $2::outbox.state, updated_at = now() - $3::interval where id = $1`,
    [id, state, ago],
  );
}

test('rows and workflows that agree are left alone', async () => {
  const workflows = new Workflows(await told(7));

  expect(await run(workflows)).toMatchObject({
    thorough: true,
    resume: null,
    rows: 7,
    workflows: 7,
    checkedRows: 7,
    checkedWorkflows: 7,
    restarted: 0,
    ended: 0,
  });
  // The counts agree and everything was compared just now: only what is due next is looked at.
  expect(await run(workflows)).toMatchObject({ thorough: false, checkedRows: 7, checkedWorkflows: 0 });
  expect(await untold()).toEqual([]);
  expect(workflows.ended).toEqual([]);
});

test('a message without a workflow is passed to the starter again, one that only the index lacks is not', async () => {
  const ids = await told(5);
  const workflows = new Workflows(ids);
  workflows.running.delete(ids[3] ?? '');
  workflows.indexed = new Set(ids.slice(0, 2));

  expect(await run(workflows)).toMatchObject({ restarted: 1, ended: 0 });
  expect(await untold()).toEqual([ids[3]]);
});

test('a workflow whose message is finished or gone is ended after it had time to notice', async () => {
  const ids = await told(9);
  const workflows = new Workflows([...ids, crypto.randomUUID()]);
  const [canceled, justCanceled, failed, justFailed] = ids;
  await finish(canceled ?? '', '11 seconds');
  await finish(justCanceled ?? '', '1 second');
  await finish(failed ?? '', '11 minutes', 'failed');
  await finish(justFailed ?? '', '1 minute', 'failed');

  expect(await run(workflows)).toMatchObject({
    thorough: true,
    restarted: 0,
    ended: 3,
    checkedWorkflows: 10,
  });

  expect(workflows.ended).toEqual(expect.arrayContaining([canceled, failed]));
  expect([...workflows.running].toSorted()).toEqual(
    ids.filter((id) => id !== canceled && id !== failed).toSorted(),
  );
});

test('a difference of the counts leads to a full comparison', async () => {
  const workflows = new Workflows(await told(4));
  await run(workflows);
  workflows.running.add(crypto.randomUUID());

  expect(await run(workflows)).toMatchObject({ thorough: true, ended: 1 });
});

test('everything is compared once an hour', async () => {
  const workflows = new Workflows(await told(4));
  await run(workflows);
  await fixture.database.query(`update outbox.reconciliation set at = at - interval '61 minutes'`);

  expect(await run(workflows)).toMatchObject({ thorough: true });
});

test('a comparison too long for one run continues in the next', async () => {
  const ids = await told(10);
  const workflows = new Workflows(ids);
  workflows.running.delete(ids[9] ?? '');
  workflows.running.add(crypto.randomUUID());
  const small = { pageRows: 2, most: 4 };

  const first = await run(workflows, small);
  expect(first).toMatchObject({ thorough: true, checkedRows: 4, restarted: 0, ended: 0 });
  expect(first.resume).toMatchObject({ rows: { id: ids[3] }, workflows: '6' });
  const second = await run(workflows, small);
  expect(second).toMatchObject({ thorough: true, checkedWorkflows: 4, ended: 1 });
  expect(second.resume).toMatchObject({ rows: { id: ids[7] } });
  expect(await run(workflows, small)).toMatchObject({ resume: null, restarted: 1 });
  expect(await untold()).toEqual([ids[9]]);
  expect(workflows.pages).toEqual(['', '3', '6', '9']);
});

test('a page that the engine no longer knows restarts the comparison', async () => {
  const workflows = new Workflows(await told(4));
  await run(workflows);
  await fixture.database.query(
    `update outbox.reconciliation set resume = '{"workflows": "of a lost namespace"}'`,
  );

  expect(await run(workflows)).toMatchObject({ thorough: true, resume: null, checkedWorkflows: 4 });
});

test('the last hundred results are kept, and the latest can be read', async () => {
  const workflows = new Workflows(await told(1));
  for (let n = 0; n < 103; n += 1) await run(workflows);
  const last = await run(workflows);

  const [row] = await fixture.database.query<{ count: number }>(
    'select count(*)::integer as count from outbox.reconciliation',
  );
  expect(row?.count).toBe(100);
  expect(await readReconciliation(fixture.database)).toEqual(last);
  expect(Date.now() - Date.parse(last.at)).toBeLessThan(60_000);
});
