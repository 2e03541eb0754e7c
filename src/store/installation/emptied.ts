import { OutboxError } from '../../core/errors.ts';
import { flagCell, readRow } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/**
 * The error of a table without the rows that the outbox cannot work without: they are gone, although triggers refuse that, or row
 * level security hides them. Who then believed that they are gone would drop the schema, with every message in it.
 *
 * @param table with the name of its schema
 */
export async function emptied(sql: Sql, table: string): Promise<OutboxError> {
  const rows = await sql.query<object>('select pg_catalog.row_security_active($1) as hidden', [table]);
  if (readRow(rows, { hidden: flagCell }).hidden)
    return new OutboxError(
      'OUTBOX_ROW_SECURITY_ACTIVE',
      `Row level security hides the rows of ${table} from this role.`,
      { details: { table } },
    );
  return new OutboxError(
    'OUTBOX_SCHEMA_EMPTIED',
    `The schema of the outbox is there, but ${table} is empty: something has emptied its tables.`,
    { details: { table } },
  );
}
