import { atMost } from '../core/at-most.ts';
import type { Database } from '../store/database/database.ts';
import { forgetTold } from '../store/lane/starts.ts';
import {
  countTold,
  type DueCursor,
  firstDue,
  maxCounted,
  readSuperfluous,
  readTold,
} from '../store/verify/reconcile.ts';
import {
  type Reconciliation,
  type ReconciliationResume,
  readThorough,
  writeReconciliation,
} from '../store/verify/reconciliation.ts';
import type { RunningMessages, WorkflowCensus } from './ports.ts';

export type { Reconciliation } from '../store/verify/reconciliation.ts';

export interface ReconcileInput {
  readonly database: Database;
  readonly census: WorkflowCensus;
  readonly signal: AbortSignal;
  /** Called after every page. */
  readonly progress: () => void;
  /** Maximum number of rows, and of workflows, that one run looks at. @defaultValue 100,000 */
  readonly most?: number;
  /** Rows of a page. @defaultValue 1,000 */
  readonly pageRows?: number;
}

/** Everything is compared at least this often. */
const thoroughEveryMs = 60 * 60_000;
/** A comparison that takes longer continues in the next run. */
const drainTimeoutMs = 45_000;
/** Workflows that are queried or ended concurrently. */
const concurrently = 10;
/** Counts may differ by this share of the messages: the index lags, and messages change in between. */
const toleratedShare = 0.001;

/**
 * Compares messages that have a workflow of their own with the running workflows, and repairs: a message without a
 * workflow gets one from the starter, a workflow without an unfinished message is ended.
 *
 * Compares the counts and the messages that are due next. Compares everything if the counts differ, once an hour, and until
 * a comparison that was too long for one run is complete. The row decides, and an unnecessary repair does no harm: starts
 * are idempotent, and a workflow that was ended wrongly is started again.
 */
export async function reconcileWorkflows(input: ReconcileInput): Promise<Reconciliation> {
  const { database, census } = input;
  const comparison = new Comparison(input);
  const rows = await countTold(database);
  const workflows = await census.countRunning();
  const last = await readThorough(database);
  const going = last?.resume ?? null;
  const due = last === undefined || last.agoMs >= thoroughEveryMs;
  const thorough = going !== null || due || differ(rows, workflows);
  if (!thorough || going !== null) await comparison.checkDueNext();
  const resume = thorough ? await comparison.checkAll(going) : null;
  const { tookMs, checkedRows, checkedWorkflows, restarted, ended } = comparison;
  return writeReconciliation(database, {
    tookMs,
    thorough,
    resume,
    rows,
    workflows,
    checkedRows,
    checkedWorkflows,
    restarted,
    ended,
  });
}

/** Beyond {@link maxCounted} messages are not counted, so a difference cannot be seen. */
function differ(rows: number, workflows: number): boolean {
  if (rows >= maxCounted) return workflows < rows;
  return Math.abs(rows - workflows) > rows * toleratedShare;
}

/** One run, and what it has found so far. */
class Comparison {
  readonly #input: ReconcileInput;
  readonly #pageRows: number;
  readonly #most: number;
  readonly #startedAt = performance.now();
  checkedRows = 0;
  checkedWorkflows = 0;
  restarted = 0;
  ended = 0;

  constructor(input: ReconcileInput) {
    this.#input = input;
    this.#pageRows = input.pageRows ?? 1_000;
    this.#most = input.most ?? 100_000;
  }

  get tookMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  get #over(): boolean {
    return this.#input.signal.aborted || this.tookMs > drainTimeoutMs;
  }

  /** Checks the messages that are due next. */
  async checkDueNext(): Promise<void> {
    await this.#checkRows(await readTold(this.#input.database, firstDue, this.#pageRows));
  }

  /**
   * Checks all rows and all workflows, or those that an earlier run has left.
   *
   * @returns where the next run continues; `null`: the comparison is complete
   */
  async checkAll(going: ReconciliationResume | null): Promise<ReconciliationResume | null> {
    const rows = going === null || going.rows !== undefined ? await this.#allRows(going?.rows) : undefined;
    const workflows =
      going === null || going.workflows !== undefined
        ? await this.#allWorkflows(going?.workflows)
        : undefined;
    if (rows === undefined && workflows === undefined) return null;
    return { ...(rows !== undefined && { rows }), ...(workflows !== undefined && { workflows }) };
  }

  async #allRows(from = firstDue): Promise<DueCursor | undefined> {
    let after = from;
    for (let looked = 0; ; looked += this.#pageRows) {
      if (this.#over || looked >= this.#most) return after;
      const page = await readTold(this.#input.database, after, this.#pageRows);
      await this.#checkRows(page);
      const last = page.at(-1);
      if (last === undefined || page.length < this.#pageRows) return undefined;
      after = last;
    }
  }

  /** Looks workflows up in the index, then queries those that are missing in it, because the index lags. */
  async #checkRows(page: readonly DueCursor[]): Promise<void> {
    const { database, census, progress } = this.#input;
    const ids = page.map(({ id }) => id);
    const indexed = await census.findRunning(ids);
    const missing: string[] = [];
    await atMost(
      concurrently,
      ids.filter((id) => !indexed.has(id)),
      async (id) => {
        if (!(await census.isRunning(id))) missing.push(id);
      },
    );
    if (missing.length > 0) this.restarted += await forgetTold(database, missing);
    this.checkedRows += ids.length;
    progress();
  }

  async #allWorkflows(from: string | undefined): Promise<string | undefined> {
    let page = from ?? '';
    for (let looked = 0; ; ) {
      if (this.#over || looked >= this.#most) return page;
      const { ids, next } = await this.#list(page);
      await this.#endSuperfluous(ids);
      looked += ids.length;
      if (next === undefined) return undefined;
      page = next;
    }
  }

  /** A page token may have become invalid, for example with its namespace: then it starts from the beginning. */
  async #list(page: string): Promise<RunningMessages> {
    const { census } = this.#input;
    return page === ''
      ? census.listRunning('')
      : census.listRunning(page).catch(() => census.listRunning(''));
  }

  async #endSuperfluous(ids: readonly string[]): Promise<void> {
    const { database, census, progress } = this.#input;
    await atMost(concurrently, await readSuperfluous(database, ids), async ({ id, state }) => {
      const why = state === null ? 'the message no longer exists' : `the message is ${state}`;
      if (await census.end(id, `temporal-outbox: ${why}`)) this.ended += 1;
    });
    this.checkedWorkflows += ids.length;
    progress();
  }
}
