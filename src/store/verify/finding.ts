import type { Sql } from '../database/database.ts';

/** One violation, or one row that draws attention. */
export interface Violation {
  /** What is wrong, as a sentence. */
  readonly what: string;
  /** Name of the topic; `null`: none. */
  readonly topic: string | null;
  /** Id of the message, or the name of the object. */
  readonly id: string | null;
  /** Key of the message; `null`: it has none. */
  readonly key: string | null;
}

/** What one check found. */
export interface Finding {
  /** How many things were checked. */
  readonly checked: number;
  readonly violations: number;
  /** The first 20 of them. */
  readonly first: readonly Violation[];
  /** Counts of related facts that are not violations. */
  readonly notes: Readonly<Record<string, number>>;
}

/** Number of violations that are listed; the others are only counted. */
export const shownViolations = 20;

interface FoundRow extends Violation {
  readonly total: number;
}

/** Runs a query with the columns `what`, `topic`, `id` and `key`, and returns its first rows and their number. */
export async function findViolations(
  sql: Sql,
  query: string,
  values: readonly unknown[] = [],
): Promise<Pick<Finding, 'violations' | 'first'>> {
  const rows = await sql.query<FoundRow>(
    `with found as materialized (${query})
     select what, topic, id::text as id, key, (select count(*) from found)::integer as total
     from found order by topic, id, what limit ${shownViolations}`,
    values,
  );
  return {
    violations: rows[0]?.total ?? 0,
    first: rows.map(({ what, topic, id, key }) => ({ what, topic, id, key })),
  };
}

/** The number that a query returns. */
export async function countRows(sql: Sql, query: string, values: readonly unknown[] = []): Promise<number> {
  const [row] = await sql.query<{ count: number }>(query, values);
  return row?.count ?? 0;
}
