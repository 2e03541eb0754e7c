/**
 * What the benchmark asks of a contender, which is a process of its own. This file and `serve.ts` are also loaded by the
 * peers, which run from their sources under a newer Node: nothing but types and Node's own modules.
 */

/** Where a contender finds its servers, and how it is set. */
export interface ContenderInput {
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  readonly temporalAddress: string;
  readonly redisUrl: string;
  /** The Kafka topic, which exists. Names of queues and tables may be derived from it. */
  readonly topic: string;
  /** Note when each message is acknowledged, which costs a little: for latencies only. */
  readonly noting: boolean;
  /** False: it is never started, and only sends. */
  readonly delivers: boolean;
  readonly setting: Setting;
}

/** What is swept: sizes and numbers by the contender's own names. */
export type Setting = Readonly<Record<string, number | string>>;

/** A message that was stored, by the clock of the machine in ms with a fraction, which its processes have in common. */
export interface Stored {
  readonly id: string;
  readonly committedAtMs: number;
}

/** When Kafka acknowledged the message of an id, by the same clock. */
export type AcknowledgedAt = readonly [id: string, atMs: number];

/** One way to bring messages from where they are stored to Kafka. */
export interface Contender {
  /** Stores messages by the contender's own bulk way. @param dueAtMs ms since 1970; absent: due at once */
  fill(count: number, dueAtMs?: number): Promise<void>;
  /** Begins to deliver. Resolves when it does. */
  start(): Promise<void>;
  /** Stores message number `index` in a transaction of its own, in the way that is quickest to be delivered. */
  sendOne?(index: number): Promise<Stored>;
  /** Settles what was delivered, and ends. */
  stop(): Promise<void>;
}

/** Called by a contender with the ids that Kafka has acknowledged. Only if `noting`. */
export type Acknowledged = (ids: Iterable<string>) => void;

/** Makes a contender ready to be filled. */
export type Open = (input: ContenderInput, acknowledged: Acknowledged) => Promise<Contender>;

/** Used processor time of the contender's process at a time in ms since 1970. */
export interface CpuSample {
  readonly atMs: number;
  readonly cpuMs: number;
}

/** Memory of a process, in megabytes of a million bytes. */
export interface MemorySample {
  /** What the process holds of the machine's memory. */
  readonly rssMb: number;
  /** Of JavaScript; live only if it was collected before. */
  readonly heapMb: number;
}

/** Milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** Messages at a constant rate, whether or not earlier ones have been delivered. */
export interface OpenLoop {
  readonly perSecond: number;
  readonly seconds: number;
  /** Sent at the same rate before; they do not count. */
  readonly warmUpSeconds: number;
}

/** The calls of the parent, with what each takes and answers. */
export interface Calls {
  open: { readonly takes: ContenderInput; readonly answers: null };
  fill: { readonly takes: { readonly count: number; readonly dueAtMs?: number }; readonly answers: null };
  start: { readonly takes: null; readonly answers: null };
  cpu: { readonly takes: null; readonly answers: readonly CpuSample[] };
  /** With `collect` after a collection, for which the program needs `--expose-gc`. */
  memory: { readonly takes: { readonly collect: boolean }; readonly answers: MemorySample };
  /** All but those of the warm-up. */
  send: { readonly takes: OpenLoop; readonly answers: readonly Stored[] };
  acknowledged: { readonly takes: null; readonly answers: readonly AcknowledgedAt[] };
  stop: { readonly takes: null; readonly answers: null };
}

export type Call = keyof Calls;

/** What goes to the contender. */
export interface Request {
  readonly call: Call;
  readonly with: unknown;
}

/** What comes back, for each request in turn. */
export type Reply = { readonly answer: unknown } | { readonly error: string };
