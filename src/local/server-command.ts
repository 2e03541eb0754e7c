import type { DataFolder } from './data-folder.ts';
import type { Environment } from './local-options.ts';

/** What is executed to run a server in the foreground. */
export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Where the process is a Docker client: the name of the container it runs. */
  readonly container?: string;
  /** A Docker volume that ends with the server. */
  readonly volume?: string;
}

/** A server process and how to deal with it. */
export interface ServerSpec {
  readonly data: DataFolder;
  /** For people: `PostgreSQL`. */
  readonly name: string;
  readonly nodeId: number;
  /** `host:port` */
  readonly address: string;
  readonly command: ServerCommand;
  /** Ends it and keeps its data whole. */
  readonly stopSignal: NodeJS.Signals;
  /** Ends it as fast as possible, when its data is thrown away. */
  readonly discardSignal: NodeJS.Signals;
  /** How long a start may take. */
  readonly readyWithinMs: number;
  /** What its log says when it ends at once, because processes of one that was killed are still there. It is tried again then. */
  readonly survived?: RegExp;
  /** Asks the server once; rejects while it does not answer. */
  readonly probe: () => Promise<void>;
}
