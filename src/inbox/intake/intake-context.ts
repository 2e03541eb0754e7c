import type { Transaction } from '../../store/database/transaction.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { Receipts } from '../handling/receipts.ts';
import type { RouteTable } from '../route-table.ts';
import type { Applier } from './applier.ts';
import type { FailingPartitions } from './failing-partitions.ts';
import type { KeyQueues } from './key-queues.ts';
import type { KnownMessages } from './known-messages.ts';
import type { PoisonMarks } from './poison-marks.ts';

/** Where the messages of an intake come from, and who is notified of some. */
export interface IntakeSource<Tx extends Transaction> {
  readonly lookup: RouteTable<Tx>;
  /** Receipts for messages whose topic asks this group for them; `undefined` if no topic does. */
  readonly receipts: Receipts | undefined;
  /** Called when a message was parked. */
  readonly onParked: () => void;
  /** Called when a message was failed. */
  readonly onFailed: () => void;
}

/** What the steps of an intake share. */
export interface IntakeContext<Tx extends Transaction> extends ConsumerContext<Tx>, IntakeSource<Tx> {
  readonly applier: Applier<Tx>;
  readonly failing: FailingPartitions;
  readonly known: KnownMessages<Tx>;
  readonly marks: PoisonMarks<Tx>;
  readonly queues: KeyQueues;
}
