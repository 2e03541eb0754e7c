import type { Lane } from '../core/lane.ts';
import type { Hold } from '../transports/transport.ts';

/** What a relay tells about itself. Nothing depends on anybody listening. */
export type RelayEvent =
  | ({ readonly type: 'batch-settled'; readonly acknowledged: number; readonly exceptions: number } & Lane)
  | ({ readonly type: 'hold-began'; readonly hold: Hold } & Lane)
  | ({ readonly type: 'hold-ended'; readonly heldMs: number } & Lane)
  | ({ readonly type: 'lane-acquired'; readonly lapsed: boolean } & Lane)
  | ({ readonly type: 'lane-freed'; readonly quiet: boolean } & Lane)
  | ({ readonly type: 'lane-lost' } & Lane)
  | { readonly type: 'lanes-started'; readonly count: number }
  | { readonly type: 'messages-started'; readonly count: number }
  | { readonly type: 'messages-swept'; readonly count: number }
  | {
      readonly type: 'failed';
      readonly what: 'look' | 'sweep' | 'start-lanes' | 'start-messages' | 'settle' | 'workers';
      readonly error: unknown;
    };

export type Report = (event: RelayEvent) => void;
