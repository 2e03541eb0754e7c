import type { Transaction } from '../store/database/transaction.ts';
import type { FailedMessage } from '../store/message/unnotified.ts';

/**
 * Called by a relay for each message that has failed, in a transaction of the relay's database that also notes that it was
 * called.
 *
 * What it writes with `tx` happens exactly once per failure, whatever crashes: `send(tx, …)` a message to those who mail or
 * page a person. What it does elsewhere may be repeated. If it rejects, or takes longer than 30 s, `tx` is rolled back and it
 * is called again later: after a second, then after twice as long each time, up to five minutes. After ten rejections in a row all calls
 * of this relay wait like that, whichever message they are for. It has 5 s between two statements, because it holds locks. A message that somebody retries before the call is not reported.
 *
 * It is called for the topics of the relay's configuration, also for those that had failed before it was configured. A topic
 * of its own messages may fail as well: leave that one out.
 */
export type OnFailed = (tx: Transaction, failed: FailedMessage) => PromiseLike<unknown>;
