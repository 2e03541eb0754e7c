import { OutboxError } from '../../core/errors.ts';

/** The error of a schema whose own rows are gone, although its triggers refuse that. @param table whose rows are missing */
export function emptied(table: string): OutboxError {
  return new OutboxError(
    'OUTBOX_SCHEMA_EMPTIED',
    `The schema of the outbox is there, but ${table} is empty: something has emptied its tables.`,
    { details: { table } },
  );
}
