import { OutboxError } from '../core/errors.ts';
import { checkMigrations, migrate, readMigrations } from '../store/migrate.ts';
import { openDatabase } from '../store/pool.ts';
import { exitCodes, type Output } from './output.ts';

export interface MigrateOptions {
  /** Address of the database. */
  readonly url: () => Promise<string>;
  /** Print the SQL and change nothing. */
  readonly print?: boolean;
  /** Tell whether something is missing and change nothing. */
  readonly check?: boolean;
}

/** Applies the product's migrations, prints them, or tells whether they are there. */
export async function migrateCommand(options: MigrateOptions, output: Output): Promise<number> {
  const migrations = await readMigrations();
  if (options.print) {
    output.line(migrations.map((migration) => `-- ${migration.name}\n${migration.sql}`).join('\n'));
    output.value({ ok: true, migrations });
    return exitCodes.ok;
  }
  const database = openDatabase({ url: await options.url(), connections: 1 });
  try {
    if (options.check) {
      const { applied, pending } = await checkMigrations(database, migrations);
      output.line(pending.length === 0 ? `Up to date: ${applied.length} applied.` : `Missing: ${pending.join(', ')}`);
      output.value({ ok: pending.length === 0, applied, pending });
      return pending.length === 0 ? exitCodes.ok : exitCodes.failed;
    }
    const applied = await migrate(database, migrations);
    output.line(applied.length === 0 ? 'Nothing to do: the database is up to date.' : applied.map((name) => `Applied ${name}`).join('\n'));
    output.value({ ok: true, applied });
    return exitCodes.ok;
  } catch (error) {
    throw refusedRights(error) ?? error;
  } finally {
    await database.close();
  }
}

function refusedRights(error: unknown): OutboxError | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== '42501') return undefined;
  return new OutboxError('OUTBOX_CONFIG_INVALID', `The database user may not do this: ${error.message}.`, { cause: error });
}
