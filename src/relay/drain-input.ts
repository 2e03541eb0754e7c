import type { Lane } from '../core/lane.ts';
import type { Wake } from '../core/wake.ts';
import type { Database, LiveSession } from '../store/database/database.ts';
import type { RelayReport } from './report.ts';
import type { BatchLimits, RelayTimings } from './timings.ts';
import type { TopicRoute } from './topic-route.ts';

/**
 * `more`: call again at once. `quiet`: the lane was empty for a while, or an operator has paused the topic. `taken`: the lane has
 * another owner; only a stand-in returns it.
 */
export type DrainAnswer = 'more' | 'quiet' | 'taken';

export interface DrainInput {
  readonly database: Database;
  readonly lane: Lane;
  readonly route: TopicRoute;
  /** The CloudEvents source, which identifies the installation. */
  readonly source: string;
  readonly timings: RelayTimings;
  readonly limits: BatchLimits;
  readonly wake: Wake;
  /** The session of this process, which shows others that it is alive. @defaultValue none: only its leases show that */
  readonly session?: () => LiveSession | undefined;
  readonly report: RelayReport;
  /** Shutdown or cancel: settle the current batch, free the lane, return. */
  readonly signal: AbortSignal;
  /** It drains in place of the lane's workflow, and returns `taken` at once if the lane has an owner. @defaultValue false */
  readonly standIn?: boolean;
  /** Called whenever the drain makes progress, so that a watchdog can tell slow from stuck. */
  readonly progress: () => void;
  /** Called when the lane has nothing left of what this snapshot shows, as far as it may be sent. @defaultValue none */
  readonly caughtUp?: (snapshot: string) => void;
  /** Wraps the work on a batch between its claim and the end of its settle. @defaultValue none */
  readonly inHand?: <Result>(batch: () => Promise<Result>) => Promise<Result>;
}
