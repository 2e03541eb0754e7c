import { OutboxError } from '../../core/errors.ts';
import { requirePostgres } from './foreign-client.ts';
import { isPrisma8, isPrisma8Transaction } from './prisma8-parts.ts';

/**
 * Judges a client where it is given, because it is used much later.
 *
 * @param caller the function that it is given to
 * @throws OutboxError `OUTBOX_OPTION_INVALID` unless it opens transactions, with what to pass instead; `OUTBOX_CLIENT_UNFIT` for
 * one of another database
 */
export function assertClient(caller: string, given: unknown): void {
  requirePostgres(given);
  if (has(given, '$transaction')) return;
  throw new OutboxError('OUTBOX_OPTION_INVALID', `The client of ${caller} is ${whatIs(given)}.`, {
    details: { option: 'client' },
  });
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` unless it is a pool of connections */
export function assertPool(given: unknown): void {
  if (['connect', 'query', 'on'].every((method) => has(given, method)) && !has(given, 'release')) return;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    isPrisma8(given)
      ? 'clientOf takes a Pool of pg, or one like it; wrap a client of Prisma 8 with prisma8(db).'
      : 'clientOf takes a Pool of pg, or one like it; a Prisma client is a client already.',
    { details: { option: 'pool' } },
  );
}

function whatIs(given: unknown): string {
  if (given === undefined || given === null) return `${given}: pass a Prisma client, or clientOf(pool)`;
  if (isPrisma8(given)) return 'a client of Prisma 8: wrap it, as prisma8(db)';
  if (isPrisma8Transaction(given))
    return 'a transaction of Prisma 8: pass prisma8(db), made of the client that opened it';
  if (has(given, '$queryRawUnsafe')) return 'a transaction: pass the client that opened it';
  if (has(given, 'connect') && has(given, 'query')) return 'a pool: wrap it, as clientOf(pool)';
  return 'neither a Prisma client nor made by clientOf(pool)';
}

function has(given: unknown, method: string): boolean {
  return typeof given === 'object' && given !== null && typeof Reflect.get(given, method) === 'function';
}
