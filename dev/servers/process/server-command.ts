import type { Environment } from '../local-options.ts';
import type { DataFolder } from './data-folder.ts';

/** The command that runs a server in the foreground. */
export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** If the process is a Docker client: the name of the container it runs. */
  readonly container?: string;
  /** A Docker volume that is removed with the server. */
  readonly volume?: string;
}

/** How to start, probe and stop a server process. */
export interface ServerSpec {
  readonly data: DataFolder;
  /** Display name, such as `PostgreSQL`. */
  readonly name: string;
  readonly nodeId: number;
  /** `host:port` */
  readonly address: string;
  readonly command: ServerCommand;
  /** Shuts it down cleanly. */
  readonly stopSignal: NodeJS.Signals;
  /** Ends it as fast as possible; used when its data is discarded. */
  readonly discardSignal: NodeJS.Signals;
  /** How long a start may take. */
  readonly readyWithinMs: number;
  /** Matches the log of a start that failed because processes of a killed server remain. The start is then retried. */
  readonly survived?: RegExp;
  /** Probes the server once; rejects while it is not ready. */
  readonly probe: () => Promise<void>;
}
