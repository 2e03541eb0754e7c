import type { Lane } from '../core/lane.ts';
import type { Hold } from '../transports/transport.ts';

/** What a relay reports. Nothing depends on a listener. */
export type RelayEvent =
  | { readonly type: 'archived'; readonly count: number }
  | ({ readonly type: 'batch-settled'; readonly acknowledged: number; readonly exceptions: number } & Lane)
  | { readonly type: 'bulk-ended'; readonly id: string; readonly counts: Readonly<Record<string, number>> }
  | { readonly type: 'bulk-started'; readonly id: string }
  | ({ readonly type: 'hold-began'; readonly hold: Hold } & Lane)
  | ({ readonly type: 'hold-ended'; readonly heldMs: number } & Lane)
  | ({ readonly type: 'lane-acquired'; readonly lapsed: boolean } & Lane)
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
  /** A new topic is not delivered yet: its lanes wait for these transactions, or for locked messages. */
  | {
      readonly type: 'topic-waiting';
      readonly topic: string;
      readonly waitingFor: string;
      readonly who: readonly string[];
    }
  /** It starts, and cannot reach a server that it needs. Reported at once, then at most every five seconds. */
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
        | 'installation'
        | 'look'
        | 'sweep'
        | 'start-lanes'
        | 'start-messages'
        | 'start-bulk'
        | 'bulk'
        | 'settle'
        | 'schedules'
        | 'workers'
        | 'overdue'
        | 'receipts';
      readonly error: unknown;
    };

/** Called with every event, synchronously; it should return quickly, and not throw. */
export type Report = (event: RelayEvent) => void;
