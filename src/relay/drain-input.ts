import type { Lane } from '../core/lane.ts';
import type { Database, LiveSession } from '../store/database/database.ts';
import type { Report } from './report.ts';
import type { BatchLimits, RelayTimings } from './timings.ts';
import type { TopicRoute } from './topic-route.ts';
import type { Wake } from './wake.ts';

/** `more`: call again at once. `quiet`: nothing was left for a while, or an operator has paused the topic. */
export type DrainAnswer = 'more' | 'quiet';

export interface DrainInput {
  readonly database: Database;
  readonly lane: Lane;
  readonly route: TopicRoute;
  /** CloudEvents source: which installation speaks. */
  readonly source: string;
  readonly timings: RelayTimings;
  readonly limits: BatchLimits;
  readonly wake: Wake;
  /** The session of this process, by which others see that it lives. @defaultValue none: its leases alone say so */
  readonly session?: () => LiveSession | undefined;
  readonly report: Report;
  /** Shutdown or cancel: settle what is on its way, free the lane, return. */
  readonly signal: AbortSignal;
  /** Called whenever the drain gets on, so that a watchdog can tell slow from stuck. */
  readonly progress: () => void;
  /** Is put around a batch from its claim to its settle. @defaultValue nothing is */
  readonly inHand?: <Result>(batch: () => Promise<Result>) => Promise<Result>;
}
