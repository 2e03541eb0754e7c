import type { Lane } from '../core/lane.ts';
import type { Hold } from '../transports/transport.ts';

/** What a relay tells about itself. Nothing depends on anybody listening. */
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
  /** Receipts of their group came. */
  | { readonly type: 'messages-confirmed'; readonly topic: string; readonly count: number }
  /** Their group passed them without a receipt; they are sent once more. */
  | { readonly type: 'messages-resent'; readonly topic: string; readonly count: number }
  | { readonly type: 'messages-started'; readonly count: number }
  | { readonly type: 'messages-swept'; readonly count: number }
  /** Sent as often as their topic allows, and never confirmed: they are failed, and a person should look. */
  | { readonly type: 'messages-unconfirmed'; readonly topic: string; readonly count: number }
  /** A record among the receipts that is none; it was passed over. */
  | { readonly type: 'receipt-unreadable'; readonly reason: string }
  /** A new topic is not delivered yet: its lanes wait for the named transactions, or for locked messages. */
  | {
      readonly type: 'topic-waiting';
      readonly topic: string;
      readonly waitingFor: string;
      readonly who: readonly string[];
    }
  /** It starts, and a server that it needs is not there yet. Told at once, and then every five seconds at most. */
  | {
      readonly type: 'waiting-for-server';
      readonly server: 'PostgreSQL' | 'Temporal';
      /** `host:port` */
      readonly address: string;
      readonly error: unknown;
    }
  | { readonly type: 'reconciled'; readonly restarted: number; readonly ended: number }
  | {
      /** It is tried again. */
      readonly type: 'error';
      /** What it was at. */
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

/** Called with every event, at the moment of it; it should return soon, and not throw. */
export type Report = (event: RelayEvent) => void;
