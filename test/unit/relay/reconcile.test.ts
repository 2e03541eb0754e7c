import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WorkflowCensus } from '../../../src/relay/ports.ts';
import { type ReconcileInput, reconcileWorkflows } from '../../../src/relay/reconcile.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const count = 'select count(*)::integer as count';
const read = 'm.due_at::text as "dueAt"';
const thorough = 'from outbox.reconciliation where thorough';
const write = 'insert into outbox.reconciliation';
const forget = 'set workflow_due_at = null';
const superfluous = 'from unnest($1::uuid[]) g (id)';

const row = (n: number) => ({ id: `id-${n}`, dueAt: `due-${n}` });
const first = { dueAt: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Rows with a started workflow, and running workflows: numbers of messages. The index may lag behind the running ones. */
interface World {
  readonly rows?: readonly number[];
  readonly running?: readonly number[];
  readonly counted?: number;
  readonly workflows?: number;
  /** How long ago everything was compared; `null`: never. */
  readonly agoMs?: number | null;
  readonly resume?: object | null;
}

function stage({ rows = [], running = rows, agoMs = 1_000, resume = null, ...counts }: World = {}) {
  const { counted = rows.length, workflows = running.length } = counts;
  const told = rows.map(row);
  const database = new ScriptedDatabase()
    .on(count, [{ count: counted }])
    .on(thorough, agoMs === null ? [] : [{ agoMs, resume }])
    .on(read, ([dueAt, , limit]) => {
      const from = dueAt === '-infinity' ? 0 : told.findIndex((one) => one.dueAt === dueAt) + 1;
      return told.slice(from, from + Number(limit));
    })
    .on(forget, ([ids]) => (ids as string[]).map((id) => ({ id })))
    .on(superfluous, [])
    .on(write, ([tookMs, isThorough, left, ...others]) => {
      const [found, alive, checkedRows, checkedWorkflows, restarted, ended] = others;
      const next = left === null ? null : JSON.parse(left as string);
      const totals = { rows: found, workflows: alive, checkedRows, checkedWorkflows, restarted, ended };
      return [{ tookMs, thorough: isThorough, resume: next, ...totals }];
    });
  const alive = new Set(running.map((n) => `id-${n}`));
  const seen = { listed: [] as string[], queried: [] as string[], ended: [] as string[], progress: 0 };
  const pages = new Map<string, { ids: readonly string[]; next?: string }>([['', { ids: [...alive] }]]);
  const census: WorkflowCensus = {
    countRunning: async () => workflows,
    listRunning: async (page) => {
      seen.listed.push(page);
      if (seen.listed.length > 100) throw new Error('It lists for ever.');
      const found = pages.get(page);
      if (found === undefined) throw new Error('The token is invalid.');
      return found;
    },
    findRunning: async (ids) => new Set(ids.filter((id) => alive.has(id))),
    isRunning: async (id) => {
      seen.queried.push(id);
      return alive.has(id);
    },
    end: async (id, reason) => {
      seen.ended.push(`${id}: ${reason}`);
      // Longer than what follows, in case that is not awaited.
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
      return alive.has(id);
    },
  };
  const stop = new AbortController();
  const run = (options: Partial<ReconcileInput> = {}) =>
    reconcileWorkflows({
      database,
      census,
      signal: stop.signal,
      progress: () => (seen.progress += 1),
      ...options,
    });
  const reads = () => database.valuesOf(read);
  return { database, census, seen, pages, stop, run, reads };
}

test('counts may differ by a thousandth of the rows, and above the counting limit only too few workflows count', async () => {
  for (const [counted, workflows, isThorough] of [
    [5_000, 5_005, false],
    [5_000, 5_006, true],
    [5_000, 4_994, true],
    [5_000, 4_995, false],
    [0, 1, true],
    [0, 0, false],
    [99_999, 99_000, true],
    [100_000, 100_000, false],
    [100_000, 250_000, false],
    [100_000, 99_999, true],
  ] as const) {
    const result = await stage({ counted, workflows }).run();
    expect([counted, workflows, result.thorough]).toEqual([counted, workflows, isThorough]);
  }
});

test('a workflow without an unfinished message is ended with its reason, and counted if it ran', async () => {
  const { run, database, seen } = stage({ rows: [1, 2], agoMs: null });
  database.on(superfluous, [
    { id: 'id-1', state: 'canceled' },
    { id: 'id-2', state: null },
    { id: 'id-9', state: 'published' },
  ]);
  expect(await byNow(run())).toMatchObject({ ended: 2, checkedWorkflows: 2 });
  expect(database.valuesOf(superfluous)).toEqual([[['id-1', 'id-2']]]);
  expect(seen.ended).toEqual([
    'id-1: temporal-outbox: the message is canceled',
    'id-2: temporal-outbox: the message no longer exists',
    'id-9: temporal-outbox: the message is published',
  ]);
});

test('a run checks at most a hundred thousand rows', async () => {
  const rows = Array.from({ length: 100_001 }, (_, n) => n);
  const { run, seen } = stage({ rows, running: [], agoMs: null });
  const { resume, checkedRows } = await byNow(run({ pageRows: 50_000 }));
  expect([resume, checkedRows]).toEqual([{ rows: row(99_999) }, 100_000]);
  expect(seen.listed).toEqual(['']);
});

test('a finished side is not started again', async () => {
  const onlyRows = stage({ rows: [1, 2, 3], resume: { rows: row(2) } });
  expect(await byNow(onlyRows.run())).toMatchObject({ thorough: true, resume: null, checkedWorkflows: 0 });
  expect(onlyRows.seen.listed).toEqual([]);

  const onlyWorkflows = stage({ rows: [1, 2, 3], resume: { workflows: '' } });
  expect(await byNow(onlyWorkflows.run())).toMatchObject({
    thorough: true,
    resume: null,
    checkedWorkflows: 3,
  });
  expect(onlyWorkflows.reads()).toHaveLength(1);
});

test('an error of the first page is an error', async () => {
  const { run, pages } = stage({ agoMs: null });
  pages.delete('');
  await expect(run()).rejects.toThrow('The token is invalid.');
});

test('a run ends when it is stopped or after 45 seconds, and returns where the next one continues', async () => {
  const stopped = stage({ rows: [1, 2, 3], agoMs: null });
  stopped.stop.abort();
  expect(await byNow(stopped.run())).toMatchObject({
    checkedRows: 0,
    resume: { rows: first, workflows: '' },
  });

  for (const [takesMs, left] of [
    [45_000, null],
    [45_001, { rows: row(1), workflows: '' }],
  ] as const) {
    const slow = stage({ rows: [1, 2], agoMs: null });
    let once = false;
    slow.census.isRunning = async () => true;
    slow.census.findRunning = async (ids) => {
      if (!once) await new Promise((resolve) => setTimeout(resolve, takesMs));
      once = true;
      return new Set(ids);
    };
    const result = soFar(slow.run({ pageRows: 1 }));
    await pass(takesMs);
    expect(result.value).toMatchObject({ tookMs: takesMs, resume: left });
  }
});

test('ten workflows are queried at a time', async () => {
  const { run, census } = stage({ rows: Array.from({ length: 35 }, (_, n) => n), running: [] });
  let [open, most] = [0, 0];
  census.isRunning = async () => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 10));
    open -= 1;
    return false;
  };
  const result = soFar(run());
  await pass(1_000);
  expect(most).toBe(10);
  expect(result.value).toMatchObject({ restarted: 35 });
});
