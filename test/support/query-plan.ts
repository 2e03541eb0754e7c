import type { Sql } from '../../src/store/database.ts';

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
