export { type RelayOptions, type RunningRelay, startRelay } from './config/start-relay.ts';
export type { RelayEvent, Report } from './relay/report.ts';
export type { BatchLimits, RelayTimings } from './relay/timings.ts';
