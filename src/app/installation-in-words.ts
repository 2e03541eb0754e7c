import type { RelayConfig } from '../config/config.ts';
import { databaseOf } from '../config/database-config.ts';
import { addressOfDatabase } from '../core/database-address.ts';

/** Which installation something is about: where its database is, without credentials. */
export function installationInWords({ database }: Pick<RelayConfig, 'database'>): string {
  const { address, database: name } = addressOfDatabase(databaseOf(database).url);
  return `${name} at ${address}`;
}
