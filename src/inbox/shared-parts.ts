import type { SeenFilter } from '../brokers/seen-filter.ts';
import type { Sql } from '../store/database/database.ts';
import type { Transaction } from '../store/database/transaction.ts';
import type { Tally } from './consumer-counts.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { ConsumerPlan } from './consumer-plan.ts';
import type { Breaker } from './handling/breaker.ts';
import type { HandlerTransactions } from './handling/handler-transactions.ts';
import type { OneSuspect } from './handling/one-suspect.ts';
import type { InboxTransactions } from './inbox-transactions.ts';
import type { SourceRoutes } from './source-routes.ts';

/** The plan, with the client as the inbox uses it. */
export interface StartPlan<Tx extends Transaction> extends ConsumerPlan<Tx> {
  readonly client: InboxTransactions<Tx>;
}

/** What the parts of a starting consumer share. */
export interface SharedParts<Tx extends Transaction> {
  readonly plan: StartPlan<Tx>;
  readonly sourceRoutes: readonly SourceRoutes<Tx>[];
  /** UUID of the database. */
  readonly installation: string;
  /** Bound to the epoch of the database. */
  readonly filter: SeenFilter | undefined;
  readonly suspects: OneSuspect;
  readonly tally: Tally;
  readonly breaker: Breaker;
  readonly handlers: HandlerTransactions<Tx>;
  readonly report: ConsumerReport;
  readonly ask: <Result>(question: (sql: Sql) => Promise<Result>) => Promise<Result>;
}
