import { OutboxError } from '../../core/errors.ts';
import { flagCell, orNull, readRow, textCell } from '../database/answers.ts';
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

/**
 * The error of the first table without its own rows, once a relay has announced its topics. Nothing else fails where they are gone:
 * there seems to be no work.
 */
export async function lostRows(sql: Sql): Promise<OutboxError | undefined> {
  const rows = await sql.query<object>(
    `select case when not exists (select from outbox.migration) then 'outbox.migration'
       when not exists (select from outbox.installation) then 'outbox.installation'
       when not exists (select from outbox.topic) then 'outbox.topic'
       when not exists (select from outbox.lane) then 'outbox.lane'
       when not exists (select from outbox.leaf where closed_at is null) then 'outbox.leaf'
       when not exists (select from outbox.processed_epoch where ended_at is null) then 'outbox.processed_epoch' end as lost`,
  );
  const { lost } = readRow(rows, { lost: orNull(textCell) });
  return lost === null ? undefined : emptied(sql, lost);
}
