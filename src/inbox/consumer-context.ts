import type { SeenFilter } from '../brokers/seen-filter.ts';
import type { Sql } from '../store/database/database.ts';
import type { Transaction } from '../store/database/transaction.ts';
import type { Tally } from './consumer-counts.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { ConsumerRules } from './consumer-options.ts';
import type { Breaker } from './handling/breaker.ts';
import type { HandlerTransactions } from './handling/handler-transactions.ts';
import type { HandlingMetrics } from './handling/handling-metrics.ts';
import type { OneSuspect } from './handling/one-suspect.ts';
import type { InboxTransactions } from './inbox-transactions.ts';
import type { SourceRoutes } from './source-routes.ts';

/** What the parts of a running consumer share. */
export interface ConsumerContext<Tx extends Transaction> {
  readonly client: InboxTransactions<Tx>;
  readonly rules: ConsumerRules;
  readonly sourceRoutes: readonly SourceRoutes<Tx>[];
  /** Bound to the epoch of the database. */
  readonly filter: SeenFilter | undefined;
  readonly suspects: OneSuspect;
  readonly tally: Tally;
  /** `undefined`: the process has no provider of metrics. */
  readonly metrics: HandlingMetrics | undefined;
  readonly breaker: Breaker;
  readonly handlers: HandlerTransactions<Tx>;
  readonly report: ConsumerReport;
  /** False: there is no listener, so events per message are not created. */
  readonly heard: boolean;
  /** Asks the database, and notes whether it answers. */
  readonly ask: <Result>(question: (sql: Sql) => Promise<Result>) => Promise<Result>;
}
