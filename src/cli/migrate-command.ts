import { applyMigrations, migrationState, migrations } from '../operations/schema.ts';
import { exitCodes, type Output } from './output.ts';

export interface MigrateOptions {
  /** Address of the database; not asked for when nothing is to be read there. */
  readonly url: () => Promise<string>;
  /** Print the SQL and change nothing. */
  readonly print: boolean;
  /** Tell whether something is missing and change nothing. */
  readonly check: boolean;
}

/** Applies the product's migrations, prints them, or tells whether they are there. */
export async function migrateCommand(options: MigrateOptions, output: Output): Promise<number> {
  if (options.print) return print(output);
  if (options.check) return check(await options.url(), output);
  const applied = await applyMigrations(await options.url());
  output.line(
    applied.length === 0
      ? 'Nothing to do: the database is up to date.'
      : applied.map((name) => `Applied ${name}`).join('\n'),
  );
  output.value({ ok: true, applied });
  return exitCodes.ok;
}

async function print(output: Output): Promise<number> {
  const all = await migrations();
  output.line(all.map((migration) => `-- ${migration.name}\n${migration.sql}`).join('\n'));
  output.value({ ok: true, migrations: all });
  return exitCodes.ok;
}

async function check(url: string, output: Output): Promise<number> {
  const { applied, pending } = await migrationState(url);
  const complete = pending.length === 0;
  output.line(complete ? `Up to date: ${applied.length} applied.` : `Missing: ${pending.join(', ')}`);
  output.value({ ok: complete, applied, pending });
  return complete ? exitCodes.ok : exitCodes.failed;
}
