import type { DeadServer, Environment, LocalPorts, ReportProgress } from './local-options.ts';

/** The options with their defaults, and a cache folder that exists. */
export interface LocalContext {
  readonly env: Environment;
  readonly cache: string;
  readonly tell: ReportProgress;
  readonly keep: string | undefined;
  readonly ports: LocalPorts;
  readonly died: (dead: DeadServer) => void;
  readonly signal: AbortSignal | undefined;
}
