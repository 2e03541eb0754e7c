import type { Database, Sql } from '../../src/store/database.ts';

/** A node of a query plan as `explain (format json)` gives it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** All nodes of the plan of a statement that was really run, writes included. */
export async function planNodes(
  sql: Sql,
  statement: string,
  values: readonly unknown[],
): Promise<readonly PlanNode[]> {
  const [row] = await sql.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
    `explain (analyze, buffers, format json) ${statement}`,
    values,
  );
  if (row === undefined) throw new Error('EXPLAIN answered nothing.');
  const all = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)];
  return all(row['QUERY PLAN'][0].Plan);
}

/**
 * All nodes of the plan of the one query that a function of the outbox returns, really run with the function's own
 * settings and with its parameters unknown to the planner.
 */
export async function functionPlanNodes(
  database: Database,
  name: string,
  values: readonly unknown[],
): Promise<readonly PlanNode[]> {
  return database.transaction(async (sql) => {
    const [found] = await sql.query<{
      body: string;
      names: string[];
      types: string;
      settings: string[] | null;
    }>(
      `select prosrc as body, proargnames as names, oidvectortypes(proargtypes) as types, proconfig as settings
       from pg_proc where pronamespace = 'outbox'::regnamespace and proname = $1`,
      [name],
    );
    if (found === undefined) throw new Error(`There is no function outbox.${name}.`);
    for (const setting of found.settings ?? []) await sql.query(`set local ${setting}`);
    const query = /return query\s+(.*?);\s*end/s.exec(found.body)?.[1] ?? '';
    const numbered = found.names
      .slice(0, values.length)
      .reduce(
        (text, parameter, index) => text.replaceAll(new RegExp(`\\b${parameter}\\b`, 'g'), `$${index + 1}`),
        query,
      );
    await sql.query(`prepare explained (${found.types}) as ${numbered}`);
    const literals = values.map((value) => literal(value));
    const statement = `execute explained (${literals.join(', ')})`;
    // The first run of a connection reads the catalog, too, for the functions that the query calls.
    await planNodes(sql, statement, []);
    const nodes = await planNodes(sql, statement, []);
    await sql.query('deallocate explained');
    return nodes;
  });
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  return `'${typeof value === 'string' ? value : JSON.stringify(value)}'`;
}

/** Runs `work` against a database that only notes the statement, to explain exactly what production runs. */
export async function statementOf(
  work: (sql: Sql) => Promise<unknown>,
): Promise<{ text: string; values: readonly unknown[] }> {
  let noted: { text: string; values: readonly unknown[] } | undefined;
  const sql: Sql = {
    query: (text, values = []) => {
      noted = { text, values };
      return Promise.reject(new Error('noted'));
    },
  };
  await work(sql).catch(() => undefined);
  if (noted === undefined) throw new Error('No statement was run.');
  return noted;
}

/** Indexes that a plan uses, sorted, with repeats. */
export function indexesOf(nodes: readonly PlanNode[]): readonly string[] {
  return nodes.flatMap((node) => node['Index Name'] ?? []).toSorted();
}

/** Tables of the outbox that a plan reads from end to end. */
export function fullScansOf(nodes: readonly PlanNode[]): readonly string[] {
  return nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? [node['Relation Name'] ?? ''] : []));
}

/** Pages that the whole plan touched. */
export function pagesOf([root]: readonly PlanNode[]): number {
  return (root?.['Shared Hit Blocks'] ?? 0) + (root?.['Shared Read Blocks'] ?? 0);
}
