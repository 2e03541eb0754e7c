/** Where a server came from: an address in the environment, a program on PATH, Docker, or a package registry. */
export type ServerSource = 'address' | 'path' | 'docker' | 'registry';

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Receives one line about the progress, without a line break. */
export type ReportProgress = (line: string) => void;

/** Preferred ports on 127.0.0.1. A port in use is replaced by a free one. @defaultValue free ports */
export interface LocalPorts {
  readonly postgres?: number;
  readonly temporal?: number;
  readonly temporalUi?: number;
  /** The port of the first broker; the n-th broker takes the n-th port from here. */
  readonly kafka?: number;
  readonly redis?: number;
  readonly rabbitmq?: number;
}

/** A server that has ended although nobody stopped it. */
export interface DeadServer {
  /** Such as `Kafka`. */
  readonly server: string;
  /** `by SIGKILL`, or `with exit code 1`. */
  readonly how: string;
  readonly logFile: string;
}

/** Options common to all local servers. */
export interface LocalOptions {
  /**
   * The environment: addresses (`DATABASE_URL`, `TEMPORAL_ADDRESS`, `KAFKA_BROKERS`, `REDIS_URL`, `RABBITMQ_URL`,
   * `ROCKETMQ_ENDPOINTS`), `PATH`,
   * `CI`, `JAVA_HOME` and `TEMPORAL_OUTBOX_CACHE`. It is passed on to the servers.
   */
  readonly env: Environment;
  /** Called for every step, and at least every 10 s during one. @defaultValue silent */
  readonly progress?: ReportProgress;
  /**
   * Name of a data folder that survives the server: 1 to 40 lower-case letters, digits and hyphens. One server of a
   * kind uses it at a time. @defaultValue the data is removed when the server stops
   */
  readonly keep?: string;
  readonly ports?: LocalPorts;
  /** Called when a server has ended that had answered, and was not stopped here. @defaultValue nobody is told */
  readonly died?: (dead: DeadServer) => void;
  /** Aborts a start or a download in progress. A running server is not affected. */
  readonly signal?: AbortSignal;
}

/** One server process that was started here, for tests that stop, kill or freeze it. */
export interface LocalNode {
  /** 1 for a single server, 1 to n for brokers. */
  readonly id: number;
  /** `host:port`, the same after every restart. */
  readonly address: string;
  /** The process id while it runs; for a container, that of the Docker client. */
  readonly pid: number | undefined;
  /** The file that holds everything the process has written. */
  readonly logFile: string;
  /** Sends the signal (@defaultValue the server's own for a clean shutdown) and waits for the exit. Keeps the data. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again, on the same port and data, and waits until it answers. */
  start(): Promise<void>;
}
