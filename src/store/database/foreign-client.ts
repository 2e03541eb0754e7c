import { layersOf } from '../../core/error-layers.ts';
import { OutboxError } from '../../core/errors.ts';

/** Prisma's providers of other databases, also of one that speaks PostgreSQL's protocol without its locks. */
const otherProviders = new Set(['cockroachdb', 'mongodb', 'mysql', 'sqlite', 'sqlserver']);

/** How the error codes of other drivers begin; those of PostgreSQL are five letters and digits. */
const otherCodes: readonly (readonly [beginning: RegExp, database: string])[] = [
  [/^ER_/, 'MySQL'],
  [/^(?:ERR_)?SQLITE_/, 'SQLite'],
  [/^EREQUEST$/, 'SQL Server'],
];

/**
 * Refuses a Prisma client of another database, and a transaction of one, where it is given: its server would answer with an error
 * of syntax.
 *
 * @throws OutboxError `OUTBOX_CLIENT_UNFIT`
 */
export function requirePostgres(given: unknown): void {
  if (typeof given !== 'object' || given === null) return;
  // There is no public getter.
  const provider: unknown = Reflect.get(given, '_activeProvider');
  if (typeof provider === 'string' && otherProviders.has(provider.replace('jdbc:', '')))
    throw foreignClient(provider);
}

/** The error of a statement that another database has refused; `undefined` for every other error. */
export function foreignDatabase(error: unknown): OutboxError | undefined {
  for (const { code } of layersOf(error)) {
    const found = otherCodes.find(([beginning]) => typeof code === 'string' && beginning.test(code));
    if (found !== undefined) return foreignClient(found[1], error);
  }
  return undefined;
}

function foreignClient(database: string, cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_CLIENT_UNFIT',
    `The client is of ${database}, but the outbox is in PostgreSQL, in the database of your rows.`,
    { details: { database }, cause },
  );
}
