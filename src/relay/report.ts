import type { Hold } from '../brokers/transport.ts';
import type { Lane } from '../core/lane.ts';
import type { BatchDelays } from './batch-delays.ts';

/** A message whose try has failed, as the database has it. */
export interface FailedSend extends Lane {
  /** Its id, as the consumer would have got it. */
  readonly id: string;
  /** `null`: it has none, or its topic does not show keys (`visible: false`). */
  readonly key: string | null;
  /** Number of the try, from 1; after an operator's retry of a failed message it begins again. */
  readonly attempt: number;
  /**
   * What is certain: `rejected` and `permanent` were not stored by the broker, `ambiguous` may have been; `unconfirmed` was
   * stored, and its group has passed it without a receipt.
   */
  readonly outcome: 'rejected' | 'ambiguous' | 'permanent' | 'unconfirmed';
  /** Why, as `show` prints it. */
  readonly error: string;
  /** Name of the kind of transport: `kafka`, `http`, … */
  readonly transport: string;
  /** The topic's address there. */
  readonly address: string;
}

/** What an alert says. */
export interface AlertFacts {
  /** Name of the rule. */
  readonly rule: string;
  /** What it is about, such as `topic orders`; empty: the whole installation. */
  readonly subject: string;
  /** The figure in a sentence; of an alert that has ended the last one that was beyond. */
  readonly text: string;
}

/** What a relay reports. Nothing depends on a listener. */
export type RelayEvent =
  /** A figure is beyond the threshold of its rule: reported by the relay that found it, before any alert is sent. */
  | ({ readonly type: 'alert-began' } & AlertFacts)
  | ({ readonly type: 'alert-ended' } & AlertFacts)
  /** An alert could not be sent to a destination; it is tried again. */
  | {
      readonly type: 'alert-untold';
      /** `webhook` or `email` */
      readonly destination: string;
      readonly failures: number;
      readonly retryInMs: number;
      readonly error: unknown;
    }
  | { readonly type: 'archived'; readonly count: number }
  /** A round of the archive ran out of time: more messages are sent than it moves. The next round continues where it ended. */
  | { readonly type: 'archive-behind'; readonly count: number }
  /**
   * A try has failed, and another one follows. Reported after it is committed, once per message and try; again only if its
   * relay dies or loses the lane in between: then the next owner of the lane reports what may not have been reported.
   */
  | ({ readonly type: 'attempt-failed'; readonly retryInMs: number } & FailedSend)
  /** A batch was handed to the transport, and its outcome is in the database. */
  | ({
      readonly type: 'batch-settled';
      readonly acknowledged: number;
      readonly exceptions: number;
      /** Name of the kind of transport. */
      readonly transport: string;
      /** How long the transport took. */
      readonly publishMs: number;
    } & BatchDelays &
      Lane)
  /** PostgreSQL refuses this relay, or has not answered it twice, five seconds apart: nothing is delivered. Reported once per outage. */
  | { readonly type: 'database-away'; readonly error: unknown }
  | { readonly type: 'database-back'; readonly awayMs: number }
  | { readonly type: 'bulk-ended'; readonly id: string; readonly counts: Readonly<Record<string, number>> }
  | { readonly type: 'bulk-started'; readonly id: string }
  /**
   * A message has ended, because its expiry had passed. `maybePublished`: a try before, such as that of a relay that died, may have
   * published it; else it is unsent. Reported after it is committed, once; not if the relay dies in between. The key is as in `failed`.
   */
  | ({
      readonly type: 'expired';
      readonly id: string;
      readonly key: string | null;
      readonly maybePublished: boolean;
    } & Lane)
  /** A message has failed for good: it needs a person. Reported like `attempt-failed`, and instead of it. */
  | ({ readonly type: 'failed' } & FailedSend)
  /** The lane waits. Its next owner reports it again when it takes the lane, as `continued`. */
  | ({ readonly type: 'hold-began'; readonly hold: Hold; readonly continued: boolean } & Lane)
  /**
   * Follows every `hold-began`. `over`: the lane goes on, or nothing of it waits any more; otherwise it is given up, and its next
   * owner continues the hold. `lastedMs` counts from the beginning, also with earlier owners.
   */
  | ({ readonly type: 'hold-ended'; readonly lastedMs: number; readonly over: boolean } & Lane)
  /** `lapsed`: its owner had died. `standIn`: it is drained in place of its workflow, which is late or cannot be started. */
  | ({ readonly type: 'lane-acquired'; readonly lapsed: boolean; readonly standIn: boolean } & Lane)
  | ({ readonly type: 'lane-freed'; readonly quiet: boolean } & Lane)
  | ({ readonly type: 'lane-lost' } & Lane)
  | { readonly type: 'lanes-started'; readonly count: number }
  /** Receipts of their group arrived. */
  | { readonly type: 'messages-confirmed'; readonly topic: string; readonly count: number }
  /** Their group passed them without a receipt; they are sent again. */
  | { readonly type: 'messages-resent'; readonly topic: string; readonly count: number }
  | { readonly type: 'messages-started'; readonly count: number }
  | { readonly type: 'messages-swept'; readonly count: number }
  /** Sent as often as their topic allows, and never confirmed: they are failed and need a person. */
  | { readonly type: 'messages-unconfirmed'; readonly topic: string; readonly count: number }
  /** A record in the topic of receipts is not a receipt; it was skipped. */
  | { readonly type: 'receipt-unreadable'; readonly reason: string }
  /**
   * Temporal has started no workflow for five seconds: until it is back, relays drain their lanes without it, as they have in that time.
   * Reported once per outage.
   */
  | { readonly type: 'temporal-away'; readonly error: unknown }
  | { readonly type: 'temporal-back'; readonly awayMs: number }
  /**
   * A topic that is new, or gets another number of lanes or partitions, is not delivered yet: it waits for these transactions, for locked
   * messages, or for the operator to repeat this command.
   */
  | {
      readonly type: 'topic-waiting';
      readonly topic: string;
      readonly waitingFor: string;
      readonly who: readonly string[];
    }
  /** It is starting, and cannot reach a server that it needs. Reported at once, then at most every five seconds. */
  | {
      readonly type: 'waiting-for-server';
      readonly server: 'PostgreSQL' | 'Temporal';
      /** `host:port` */
      readonly address: string;
      readonly error: unknown;
    }
  | { readonly type: 'reconciled'; readonly restarted: number; readonly ended: number }
  | {
      /** Something failed; it is tried again. */
      readonly type: 'error';
      /** What the relay was doing. */
      readonly during:
        | 'announce'
        | 'claim'
        | 'drain'
        | 'publish'
        | 'installation'
        | 'look'
        | 'sweep'
        | 'start-lanes'
        | 'start-messages'
        | 'start-bulk'
        | 'bulk'
        | 'settle'
        | 'tell'
        | 'alerts'
        | 'expiry'
        | 'figures'
        | 'notices'
        | 'groups'
        | 'schedules'
        | 'workers'
        | 'overdue'
        | 'receipts';
      readonly error: unknown;
    };

/** Called with every event, synchronously; it should return quickly, and not throw. */
export type RelayReport = (event: RelayEvent) => void;
