import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { MigrationList, SchemaEngine, SchemaFilter } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { packageRoot } from '../../src/store/package-root.ts';
import { type SchemaFile, withEngine } from './prisma-engine.ts';

/** What `prisma migrate dev` would do. */
export interface DevStep {
  readonly action: 'createMigration' | 'reset';
  /** Why a reset. */
  readonly reason?: string;
  /** Migrations of the project that were applied now. */
  readonly applied?: readonly string[];
  /** The statements of the migration that would be made. */
  readonly sql?: readonly string[];
}

/** The models of a shop. @param fields further ones of its only model */
export function shopModels(fields = '', schemas?: readonly string[]): SchemaFile {
  const content = `datasource db {
  provider = "postgresql"
  ${schemas === undefined ? '' : `schemas = ${JSON.stringify(schemas)}`}
}

generator client {
  provider        = "prisma-client"
  output          = "generated"
  previewFeatures = ["views"]
}

model Product {
  id   String @id
  name String
${fields}
  ${schemas === undefined ? '' : '@@schema("public")'}
}
`;
  return { path: 'shop.prisma', content };
}

/** The models of the outbox as somebody may have copied them: without the datasource and the generator of their own. */
export async function outboxModels(): Promise<SchemaFile> {
  const text = await readFile(path.join(packageRoot(), 'prisma', 'outbox.prisma'), 'utf8');
  return { path: 'outbox.prisma', content: text.replaceAll(/^(?:datasource|generator) \w+ \{.*?^\}/gms, '') };
}

/** An application that keeps its tables with Prisma Migrate: the steps of Prisma's commands, without their questions. */
export class PrismaProject {
  readonly #url: string;
  models: readonly SchemaFile[];
  filters: SchemaFilter = { externalTables: [], externalEnums: [] };
  readonly migrations: [name: string, sql: string][] = [
    ['1_shop', 'create table "Product" (id text primary key, name text not null);'],
  ];

  constructor(url: string, models: readonly SchemaFile[]) {
    this.#url = url;
    this.models = models;
  }

  /** `prisma migrate dev`, which ends before a migration is written, or where it would ask whether it may reset. */
  async migrateDev(): Promise<DevStep> {
    const { filters } = this;
    const migrationsList = this.#list();
    const { action } = await this.#run((engine) => engine.devDiagnostic({ migrationsList, filters }));
    if (action.tag === 'reset') return { action: 'reset', reason: action.reason };
    const { appliedMigrationNames } = await this.#run((engine) =>
      engine.applyMigrations({ migrationsList, filters }),
    );
    const { stdout } = await this.#run((engine) =>
      engine.diff({
        exitCode: null,
        filters,
        script: true,
        from: { tag: 'migrations', ...migrationsList },
        to: { tag: 'schemaDatamodel', files: [...this.models] },
      }),
    );
    const sql = (stdout ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('--'));
    return { action: 'createMigration', applied: appliedMigrationNames, sql };
  }

  /** `prisma db push` */
  async dbPush(): Promise<{ executedSteps: number; unexecutable: string[]; warnings: string[] }> {
    const schema = { files: [...this.models] };
    return this.#run((engine) => engine.schemaPush({ force: false, filters: this.filters, schema }));
  }

  /** `prisma migrate reset`, before it applies the migrations again. */
  async reset(): Promise<void> {
    await this.#run((engine) => engine.reset({ filter: this.filters }));
  }

  /** Each command is an engine of its own, as each is a process of its own. */
  #run<Result>(work: (engine: SchemaEngine) => Promise<Result>): Promise<Result> {
    return withEngine(this.#url, this.models, work);
  }

  #list(): MigrationList {
    return {
      baseDir: '/app/prisma/migrations',
      lockfile: { path: './migration_lock.toml', content: 'provider = "postgresql"\n' },
      shadowDbInitScript: '',
      migrationDirectories: this.migrations.map(([name, sql]) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
      })),
    };
  }
}
