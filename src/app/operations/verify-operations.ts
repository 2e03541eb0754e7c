import type { Config } from '../../config/config.ts';
import { type DatabaseConfig, databaseOf, databaseOptions } from '../../config/database-config.ts';
import { readConfig } from '../../config/read-config.ts';
import { type TemporalConfig, temporalOf } from '../../config/temporal-config.ts';
import { requirePackages } from '../../core/packages.ts';
import type { DeclaredTable } from '../../operations/declared.ts';
import { verification } from '../../operations/inputs/verify.ts';
import { assertGiven } from '../../operations/operation-options.ts';
import type { VerifyReport } from '../../operations/verify/report.ts';
import type { CompareSchedules } from '../../operations/verify/schedules.ts';
import { type VerifyBounds, verify } from '../../operations/verify/verify.ts';
import type { Database } from '../../store/database/database.ts';
import { visitDatabase } from '../../store/database/visit.ts';
import type { EffectsQuery } from '../../store/verify/effects.ts';
import { logsOf } from './broker-views.ts';

/** Options of a verification. */
export interface VerifyOptions extends VerifyBounds {
  /**
   * A consumer group: how to count its effects, and where, if its inbox is in another database. Whether it has handled what its offsets
   * have passed is always verified, where the broker keeps offsets and a log. @defaultValue no group is verified
   */
  readonly effects?: (EffectsQuery & { readonly database?: DatabaseConfig }) | undefined;
}

/** Whether the promises of the product were kept. */
export interface VerifyOperations {
  /**
   * Compares committed messages with the logs of the brokers, and with effects, and schedules with Temporal's, and reports broken
   * promises. Only reads,
   * but needs temporary tables. Rejects with `OUTBOX_SERVER_UNAVAILABLE` if a broker cannot be read.
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
}

/** What a verification stands on: it needs all of a configuration. */
export interface VerifyGround {
  /** Migrated. */
  readonly database: Database;
  readonly config: Partial<Pick<Config, 'temporal' | 'topics' | 'transports'>>;
}

/** The operation that verifies. */
export const verifyTable = {
  verify: {
    text: 'compare messages, logs and effects',
    overHttp: 'Looks back an hour, at most a week.',
    role: 'admin',
    allTopics: true,
    query: verification,
    otherOptions: ['effects'],
    check({ effects } = {}) {
      assertGiven('verify.effects', ['query', 'group', 'database'], effects);
      if (effects?.database !== undefined) readConfig(databaseOptions, effects.database, 'effects.database');
    },
    run: ({ config, database }, options) => verifyWith(database, config, options),
  },
} satisfies DeclaredTable<VerifyOperations, VerifyGround>;

/** Effects may be in another database, which is opened only for this call. */
async function verifyWith(
  database: Database,
  { temporal, topics = [], transports = {} }: VerifyGround['config'],
  { effects, ...options }: VerifyOptions = {},
): Promise<VerifyReport> {
  const logs = logsOf({ topics, transports });
  const other = effects?.database;
  const schedules = temporal === undefined ? undefined : askTemporal(temporal);
  const judge = (inbox: Database) => verify(database, logs, { ...options, effects, schedules }, inbox);
  return other === undefined ? judge(database) : visitDatabase(databaseOf(other), judge);
}

/** Connects when it is called. */
function askTemporal(temporal: TemporalConfig): CompareSchedules {
  return async (installation, rows) => {
    requirePackages('temporal');
    const { compareSchedules } = await import('../../temporal/compare-schedules.ts');
    return compareSchedules(temporalOf(temporal), installation, rows);
  };
}
