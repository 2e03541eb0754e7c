import type { PrismaClient } from '../../src/demo/generated/client.ts';
import { fromQuery, type Transaction } from '../../src/index.ts';
import type { Database } from '../../src/store/database.ts';

/** How an application opens a transaction. Committed when `work` resolves, rolled back when it rejects. */
export type RunTransaction = <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;

/** An interactive transaction of Prisma. */
export function byPrisma(prisma: PrismaClient): RunTransaction {
  return (work) => prisma.$transaction((tx) => work(tx));
}

/** A transaction of the driver `pg`, made usable by `fromQuery`. */
export function byPg(database: Database): RunTransaction {
  return (work) => database.transaction((sql) => work(fromQuery((text, values) => sql.query(text, values))));
}
