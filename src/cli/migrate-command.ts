import { type MigratedTopics, migrateTopics } from '../app/relay/migrate-topics.ts';
import type { WantedGroups } from '../app/wanted-groups.ts';
import type { Config } from '../config/config.ts';
import type { DatabaseAddress } from '../config/database-config.ts';
import { applyMigrations, migrationScripts, migrationState } from '../operations/schema.ts';
import { type AdoptFlags, adoptCommand } from './adopt-command.ts';
import { exitCodes, type Output } from './output.ts';

export interface MigrateFlags {
  /** The address of the database; called only if the database is used. */
  readonly database: () => Promise<DatabaseAddress>;
  /** Print the SQL and change nothing. */
  readonly print: boolean;
  /** Only check whether a migration is missing. */
  readonly check: boolean;
  /** Also let relays deliver from this restored database; `undefined`: only the schema. */
  readonly adopt?: AdoptFlags | undefined;
  /** Also prepare the topics of this configuration; `undefined`: only the schema. */
  readonly topics: (() => Promise<Config>) | undefined;
  /** With {@link MigrateFlags.topics}: also create the addresses that brokers lack. */
  readonly create: boolean;
  /** With {@link MigrateFlags.create}: also create what these groups need. */
  readonly groups?: WantedGroups | undefined;
}

/** Applies the product's migrations and prepares topics, prints the SQL, or checks whether a migration is missing. */
export async function migrateCommand(flags: MigrateFlags, output: Output): Promise<number> {
  if (flags.print) return print(output);
  if (flags.check) return check(await flags.database(), output);
  const at = await flags.database();
  const applied = await applyMigrations(at);
  output.line(
    applied.length === 0
      ? 'Nothing to do: the database is up to date.'
      : applied.map((name) => `Applied ${name}`).join('\n'),
  );
  const adoption = flags.adopt && (await adoptCommand(at, flags.adopt, output));
  const config = await flags.topics?.();
  const migrated = config && (await migrateTopics({ ...config, database: at }, flags));
  if (migrated !== undefined) output.line(inWords(migrated, flags));
  output.value({ ok: true, applied, ...(adoption !== undefined && { adoption }), ...migrated });
  return exitCodes.ok;
}

function inWords({ created, receipts, topics }: MigratedTopics, { create }: MigrateFlags): string {
  const lines = [`Announced ${topics.length} ${topics.length === 1 ? 'topic' : 'topics'} to the database.`];
  if (created.length > 0) lines.push(`Created: ${created.join(', ')}.`);
  else if (create) lines.push('Nothing had to be created.');
  if (receipts.wanted > 0)
    lines.push(receipts.made === 0 ? 'The topic of receipts exists.' : 'The topic of receipts was created.');
  return lines.join(' ');
}

async function print(output: Output): Promise<number> {
  const all = await migrationScripts();
  output.line(all.map(({ name, sql }) => `-- ${name}\n${sql}`).join('\n'));
  output.value({ ok: true, migrations: all });
  return exitCodes.ok;
}

async function check(at: DatabaseAddress, output: Output): Promise<number> {
  const { applied, pending, later } = await migrationState(at);
  const complete = pending.length === 0;
  const newer = later.length === 0 ? '' : ` A later version has added ${later.join(', ')}.`;
  output.line(complete ? `Up to date: ${applied.length} applied.${newer}` : `Missing: ${pending.join(', ')}`);
  output.value({ ok: complete, applied, pending, later });
  return complete ? exitCodes.ok : exitCodes.failed;
}
