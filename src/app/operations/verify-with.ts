import type { Config } from '../../config/config.ts';
import { type DatabaseConfig, databaseOf } from '../../config/database-config.ts';
import { type TemporalConfig, temporalOf } from '../../config/temporal-config.ts';
import { requirePackages } from '../../core/packages.ts';
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

/** Effects may be in another database, which is opened only for this call. */
export async function verifyWith(
  database: Database,
  { temporal, topics = [], transports = {} }: Partial<Pick<Config, 'temporal' | 'topics' | 'transports'>>,
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
