import { layersOf } from '../../core/error-layers.ts';
import { OutboxError } from '../../core/errors.ts';
import { late, orLate } from '../../core/or-late.ts';
import { shared } from '../../core/shared.ts';
import { databaseUnavailable } from './connection-lost.ts';
import { withItsWrites } from './pending-writes.ts';
import {
  failedBefore,
  levelOf,
  type PoolTransactionOptions,
  tooLong,
  usualMaxWaitMs,
  usualTimeoutMs,
} from './pool-transaction.ts';
import { isPrisma8, type Prisma8, type Prisma8Queryable } from './prisma8-parts.ts';
import type { Transaction } from './transaction.ts';

/** A client of Prisma 8, for `consumer`, `transaction` and others. */
export interface Prisma8Client<Tx extends Prisma8Queryable> {
  /**
   * Does `work` in a transaction, which commits when `work` resolves and is rolled back when it rejects, after its timeout, and
   * when a statement has failed although `work` resolves. What the library was asked for and nobody awaited is awaited before.
   *
   * @throws OutboxError `OUTBOX_TRANSACTION_ROLLED_BACK`; `OUTBOX_SERVER_UNAVAILABLE` without a connection within `maxWait`;
   * `OUTBOX_OPTION_INVALID`; and errors of Prisma and of `work`
   */
  $transaction<Result>(
    work: (tx: Tx & Transaction) => Promise<Result>,
    options?: PoolTransactionOptions,
  ): Promise<Result>;
  /** Runs one statement with `$1`-style values, outside of any transaction, and returns its rows. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): Promise<Result>;
  /** Checks that a connection can be opened. Need not be called: its presence distinguishes a client from a transaction. */
  $connect(): Promise<void>;
}

/** Runs a statement on what is given. */
type RunPlan = <Result>(on: Prisma8Queryable, sql: string, params: readonly unknown[]) => Promise<Result>;

const wrapped = shared('prisma-8-clients', () => new WeakSet<object>());

/**
 * Wraps a client of Prisma 8 for `consumer`, `transaction` and others, as it has no `$transaction` of its own. Handlers get its `tx`,
 * for its models and for `send`, `once` and others.
 *
 * Await everything, and use `tx`: `db.transaction` within a transaction is another one, whose writes survive a rollback.
 * docs/versions.md names the release candidates that are tested.
 *
 * @param db made by `postgres` of `@prisma/orm-postgres`
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for anything else
 * @example
 * const client = prisma8(postgres<Contract>({ contractJson, url }));
 * await transaction(client, async (tx) => {
 *   await tx.orm.public.Order.create({ id: orderId });
 *   await send(tx, orderPlaced, { orderId });
 * });
 */
export function prisma8<Tx extends Prisma8Queryable>(db: Prisma8<Tx>): Prisma8Client<Tx> {
  if (!isPrisma8(db))
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      'prisma8 takes a client of Prisma 8: see postgres of @prisma/orm-postgres.',
      {
        details: { option: 'db' },
      },
    );
  const run = runnerOf(db);
  const client: Prisma8Client<Tx> = {
    async $transaction(work, { maxWait = usualMaxWaitMs, timeout = usualTimeoutMs, isolationLevel } = {}) {
      const level = isolationLevel === undefined ? undefined : levelOf(isolationLevel);
      let [begun, givenUp] = [(): void => undefined, false];
      const waited = new Promise<void>((resolve) => (begun = resolve));
      const whole = db.transaction(async (tx) => {
        begun();
        // Nobody waits for it any more; what it rejects with rolls it back.
        if (givenUp) throw noConnection(maxWait);
        if (level !== undefined) await run(tx, `set transaction ${level}`, []);
        const result = await inTime(timeout, () => {
          const own: Tx & Transaction = Object.assign(Object.create(tx) as Tx, {
            $queryRawUnsafe: <Rows>(sql: string, ...params: unknown[]) => run<Rows>(tx, sql, params),
          });
          return withItsWrites(own, () => work(own));
        });
        // After a failed statement PostgreSQL answers a commit with a rollback, and Prisma does not look.
        await run(tx, 'select 1', []).catch(refuseAborted);
        return result;
      });
      // Told below, or to nobody.
      whole.catch(() => undefined);
      if ((await orLate(Promise.race([waited, whole]), maxWait)) === late) {
        givenUp = true;
        throw noConnection(maxWait);
      }
      return whole;
    },
    $queryRawUnsafe: (sql, ...params) => run(db.runtime(), sql, params),
    $connect: () => run(db.runtime(), 'select 1', []),
  };
  wrapped.add(client);
  return client;
}

/** Whether it is such a client: its transactions reject when they were rolled back instead of committed. */
export function isPrisma8Client(client: object): boolean {
  return wrapped.has(client);
}

/**
 * Prisma 8 runs a plan that has a text as it is. Its tag for SQL takes no arrays and returns only columns that are declared, so
 * the text is put into a plan that it has made of another one.
 */
function runnerOf(db: Prisma8<Prisma8Queryable>): RunPlan {
  let made: object | undefined;
  return async <Result>(on: Prisma8Queryable, sql: string, params: readonly unknown[]) => {
    made ??= db.raw.sql`select 1`.affectedCount().build();
    const plan: object = { ...made, sql, params };
    return (await on.query(plan as never)) as Result;
  };
}

async function inTime<Result>(timeoutMs: number, work: () => Promise<Result>): Promise<Result> {
  const result = await orLate(work(), timeoutMs);
  if (result === late) throw tooLong(timeoutMs);
  return result;
}

function refuseAborted(error: unknown): never {
  if (layersOf(error).some(({ code }) => code === '25P02')) throw failedBefore(error);
  throw error;
}

function noConnection(maxWaitMs: number): Error {
  return databaseUnavailable(`no transaction of Prisma has begun within ${maxWaitMs} ms`);
}
