import type { Partition } from '../sources/source.ts';

/** Where a message was found. */
export interface Position extends Partition {
  readonly offset: string;
}

/** A message that is known by its id. */
interface Identified extends Position {
  readonly id: string;
  readonly topic: string;
}

/** What a consumer tells about itself. Nothing depends on anybody listening. */
export type ConsumerEvent =
  | { readonly type: 'assigned'; readonly partitions: readonly Partition[] }
  | { readonly type: 'disconnected'; readonly error: unknown; readonly retryInMs: number }
  /** Its effects are committed. */
  | ({ readonly type: 'handled'; readonly attempt: number } & Identified)
  /** Its effects were committed before; it was dropped. */
  | ({ readonly type: 'duplicate' } & Identified)
  /** Of a topic that shares the address and has no handler here; it was passed over. */
  | ({ readonly type: 'ignored' } & Identified)
  /** A try was rolled back; the next one follows in place. */
  | ({ readonly type: 'failed'; readonly attempt: number; readonly error: unknown } & Position)
  /** Quick retries are used up: the partition stays at this message, others go on. Told again at every pause. */
  | ({
      readonly type: 'partition-paused';
      readonly attempt: number;
      readonly error: unknown;
      readonly retryInMs: number;
    } & Position)
  /**
   * Receipts could not be sent. They wait, beyond 10,000 the oldest are dropped; their messages are sent again then, and
   * the receipts with them. Messages go on meanwhile.
   */
  | {
      readonly type: 'receipts-unsent';
      readonly waiting: number;
      readonly dropped: number;
      readonly error: unknown;
      readonly retryInMs: number;
    }
  /** The message on which the partition stood is done. */
  | ({ readonly type: 'partition-resumed' } & Position);

export type ConsumerReport = (event: ConsumerEvent) => void;

/** A listener that cannot disturb the consumer: what it throws is dropped. */
export function undisturbed(report: ConsumerReport | undefined): ConsumerReport {
  if (report === undefined) return () => undefined;
  return (event) => {
    try {
      report(event);
    } catch {
      // A broken listener must neither fail a message that is committed nor stop a partition.
    }
  };
}
