import type { Transaction } from '../../store/database/transaction.ts';
import type { TransactionLimits } from '../../store/inbox/receive.ts';
import type { BegunTry, TopicDelays, TryRules } from '../../store/inbox/tries.ts';
import type { Tally } from '../consumer-counts.ts';
import type { ConsumerReport } from '../consumer-event.ts';
import type { Breaker } from '../handling/breaker.ts';
import type { HandlerTransactions } from '../handling/handler-transactions.ts';
import type { OneSuspect } from '../handling/one-suspect.ts';
import type { Receipts } from '../handling/receipts.ts';
import type { RouteTable } from '../route-table.ts';
import type { TransactionClient } from '../transaction-client.ts';
import type { FoundMessage } from './parked-message.ts';

export interface KeyDrainOptions<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly handlers: HandlerTransactions<Tx>;
  readonly group: string;
  /** Of every source: the source of a parked message is not stored. */
  readonly routes: readonly RouteTable<Tx>[];
  readonly rules: TryRules;
  /** Delays of the topics that have a handler here. */
  readonly topics: TopicDelays;
  /** Quick retries of messages whose first try is here, as of messages that have just arrived. */
  readonly quickRetriesMs: readonly number[];
  /** Limits that the server enforces on the transactions. */
  readonly limits: TransactionLimits;
  /** As of `TryHand`. */
  readonly worker: string;
  readonly suspects: OneSuspect;
  readonly breaker: Breaker;
  readonly tally: Tally;
  readonly report: ConsumerReport;
  readonly receiptsOf: (routes: RouteTable<Tx>) => Receipts | undefined;
  /** Called when a message has failed for good. */
  readonly onFailed: () => void;
}

/** A try that has begun, of one message or many. */
export interface Begun<Tx> {
  readonly keyId: string;
  readonly messages: readonly [BegunTry, ...BegunTry[]];
  /** In the order of the messages. */
  readonly found: readonly (FoundMessage<Tx> | undefined)[];
}
