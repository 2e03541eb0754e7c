import type { Sql } from '../database/database.ts';
import type { DueCursor } from './reconcile.ts';

/** Where the next run continues a thorough comparison that was too long for one run; absent: that side is done. */
export interface ReconciliationResume {
  /** The last message that was compared. */
  readonly rows?: DueCursor;
  /** Page token of the workflow engine. */
  readonly workflows?: string;
}

/** What one comparison of rows with workflows found and did. */
export interface Reconciliation {
  /** ISO time of its beginning, on the database's clock. */
  readonly at: string;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** True: everything was compared. False: only what is due next. */
  readonly thorough: boolean;
  /** Where the next run continues; `null`: the comparison is complete. */
  readonly resume: ReconciliationResume | null;
  /** Messages with a workflow of their own; counting stops at 100,000. */
  readonly rows: number;
  /** Running workflows of messages, as Temporal counts them. */
  readonly workflows: number;
  /** Messages that this run compared. */
  readonly checkedRows: number;
  /** Workflows that this run compared. */
  readonly checkedWorkflows: number;
  /** Messages without a running workflow, which get a new one. */
  readonly restarted: number;
  /** Workflows without an unfinished message, which were ended. */
  readonly ended: number;
}

/** Number of results that are kept. */
const kept = 100;

const columns = `to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, took_ms as "tookMs", thorough, resume, rows, workflows,
  checked_rows as "checkedRows", checked_workflows as "checkedWorkflows", restarted, ended`;

/** Writes the result of a run, and deletes old ones. */
export async function writeReconciliation(
  sql: Sql,
  result: Omit<Reconciliation, 'at'>,
): Promise<Reconciliation> {
  const [row] = await sql.query<Reconciliation>(
    `with forgotten as (
       delete from outbox.reconciliation where id <= (select max(id) from outbox.reconciliation) - $10::bigint
     )
     insert into outbox.reconciliation (at, took_ms, thorough, resume, rows, workflows, checked_rows, checked_workflows, restarted, ended)
     values (outbox.clock() - $1 * interval '1 ms', $1, $2, $3::jsonb, $4, $5, $6, $7, $8, $9)
     returning ${columns}`,
    [
      result.tookMs,
      result.thorough,
      result.resume === null ? null : JSON.stringify(result.resume),
      result.rows,
      result.workflows,
      result.checkedRows,
      result.checkedWorkflows,
      result.restarted,
      result.ended,
      kept - 1,
    ],
  );
  if (row === undefined) throw new Error('An insert answers its row.');
  return row;
}

/** The latest result; `undefined` before the first run. */
export async function readReconciliation(sql: Sql): Promise<Reconciliation | undefined> {
  const [row] = await sql.query<Reconciliation>(
    `select ${columns} from outbox.reconciliation order by id desc limit 1`,
  );
  return row;
}

/** The latest thorough result, and how long ago it began. */
export async function readThorough(
  sql: Sql,
): Promise<{ readonly agoMs: number; readonly resume: ReconciliationResume | null } | undefined> {
  const [row] = await sql.query<{ agoMs: number; resume: ReconciliationResume | null }>(
    `select extract(epoch from outbox.clock() - at)::float8 * 1000 as "agoMs", resume
     from outbox.reconciliation where thorough order by id desc limit 1`,
  );
  return row;
}
