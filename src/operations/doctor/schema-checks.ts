import { counted, type DoctorCheck, fine, firstOf, problem, warning } from '../../core/diagnosis.ts';
import { OutboxError } from '../../core/errors.ts';
import type { Sql } from '../../store/database/database.ts';
import { mending } from '../../store/doctor/mending.ts';
import { type DriftFacts, readDrift } from '../../store/doctor/schema.ts';
import { checkMigrations, type MigrationState, readMigrations } from '../../store/installation/migrate.ts';

/** The migrations of a database, and what differs from them. */
export interface SchemaFacts {
  /** The error that refuses this database to this version; else which migrations it has. */
  readonly migrations: MigrationState | OutboxError;
  /** `undefined`: nothing was compared, because a migration is missing or unknown. */
  readonly drift: DriftFacts | undefined;
}

/** The schema. */
export const schemaChecks: readonly DoctorCheck<SchemaFacts>[] = [
  { check: 'migrations', judge: ({ migrations }) => judgeMigrations(migrations) },
  { check: 'schema drift', judge: ({ drift }) => drift && judgeDrift(drift) },
];

/** True if the tables of this version are there. */
export function isMigrated({ migrations }: SchemaFacts): boolean {
  return !(migrations instanceof OutboxError) && migrations.pending.length === 0;
}

export async function readSchemaFacts(sql: Sql): Promise<SchemaFacts> {
  const known = await readMigrations();
  const migrations = await checkMigrations(sql, known).catch((error: unknown) => {
    if (error instanceof OutboxError) return error;
    throw error;
  });
  // A later migration may have replaced functions.
  const same =
    !(migrations instanceof OutboxError) && migrations.pending.length + migrations.later.length === 0;
  return { migrations, drift: same ? await readDrift(sql, known) : undefined };
}

function judgeMigrations(migrations: SchemaFacts['migrations']) {
  if (migrations instanceof OutboxError) return problem(migrations.message, migrations.next);
  const { applied, later, pending } = migrations;
  if (pending.length > 0)
    return problem(
      applied.length === 0
        ? 'The database has no outbox schema yet.'
        : `${counted(pending.length, 'migration')} missing: ${firstOf(pending)}.`,
      'temporal-outbox migrate',
    );
  if (later.length > 0)
    return warning(
      `A later version has migrated the database (${firstOf(later)}); this one works with it.`,
      'npm install temporal-outbox@latest',
    );
  return fine(`${counted(applied.length, 'migration')} applied, none missing.`);
}

function judgeDrift({ disabledTriggers, functions, invalidIndexes, securedTables }: DriftFacts) {
  const [trigger] = disabledTriggers;
  if (functions.length > 0)
    return problem(
      `${counted(functions.length, 'function')} of the outbox changed or missing: ${firstOf(functions)}. No promise holds with it.`,
      'Create it again from the output of: temporal-outbox migrate --print',
    );
  if (trigger !== undefined)
    return problem(
      `The trigger ${trigger.name} of outbox.${trigger.table} is disabled: wrong changes of rows are not refused.`,
      mending.enable(trigger.name, trigger.table),
    );
  if (securedTables.length > 0)
    return problem(
      `${counted(securedTables.length, 'table')} of the outbox with row level security: ${firstOf(securedTables)}. It hides rows, and refuses new ones.`,
      mending.unsecure(securedTables),
    );
  if (invalidIndexes[0] !== undefined)
    return problem(
      `${counted(invalidIndexes.length, 'index', 'indexes')} of the outbox cannot be used: ${firstOf(invalidIndexes)}.`,
      mending.reindex(invalidIndexes[0]),
    );
  return fine('Functions, triggers and indexes are those of the migrations.');
}
