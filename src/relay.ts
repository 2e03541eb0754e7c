export { type RelayOptions, type RunningRelay, startRelay } from './config/start-relay.ts';
export type { RelayEvent, Report } from './relay/report.ts';
