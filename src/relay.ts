export type { Logger } from './config/logger.ts';
export { type RelayOptions, type RunningRelay, startRelay } from './config/start-relay.ts';
export type { Failing, Health } from './core/health.ts';
export type { StopOptions } from './core/running.ts';
export type { RelayEvent, Report } from './relay/report.ts';
