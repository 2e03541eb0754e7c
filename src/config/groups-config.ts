import { object, recordOf, type Table } from '../core/options/collections.ts';
import { isName } from '../core/options/name.ts';
import { where } from '../core/options/values.ts';
import { type DatabaseConfig, databaseOptions } from './database-config.ts';

/** Where a consumer group keeps its inbox. */
export interface GroupConfig {
  /** The database of the group's consumers. Operations read it only. */
  readonly database: DatabaseConfig;
}

/** The setting `groups`, by name. */
export const groupsOptions = where(
  recordOf(
    object({ database: databaseOptions } satisfies Table<GroupConfig>),
    'an object of consumer groups by name',
  ),
  'must have names of consumer groups',
  (groups) => Object.keys(groups).every((name) => isName(name) && name.trim() !== ''),
);
