import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../../src/core/crash-point.ts';
import type { Topic } from '../../../src/core/topic.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { RelayTimings } from '../../../src/relay/timings.ts';
import { builtProgram } from './built-program.ts';

/** Settings of a relay process. */
export interface RelayProcessOptions {
  readonly url: string;
  readonly temporalAddress: string;
  /** Without schemas: a relay never reads a payload. */
  readonly topics: readonly Pick<Topic, 'name' | 'rules'>[];
  readonly timings?: Partial<RelayTimings>;
  /** Brokers of the Kafka that it publishes to. @defaultValue none: it publishes to the journal in its database */
  readonly brokers?: string;
  /** Secret for its signed HTTP posts. @defaultValue none: it posts nothing */
  readonly http?: { readonly secret: string };
  /** Which workflows it starts, by the `n` in the payload, and where. @defaultValue none */
  readonly workflows?: { readonly address: string; readonly type: string };
  /** A URL that it tells alerts. @defaultValue none: it has no alerts */
  readonly alertsTo?: string;
  readonly buildId?: string;
  /** Size of its old-space heap, in MiB. @defaultValue that of Node */
  readonly heapMiB?: number;
  /** A signal that the process sends to itself at the n-th pass (from 1) of a crash point. */
  readonly crash?: {
    readonly point: CrashPoint;
    readonly pass: number;
    readonly signal: 'SIGKILL' | 'SIGSTOP';
  };
}

/** Resources that a relay process holds at the moment. */
export interface Resources {
  /** Heap size after a collection, in bytes. */
  readonly heapBytes: number;
  /** Number of sockets, timers and other resources that keep the process alive, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

/** A relay that can be killed and frozen. Its publisher name in the journal is its pid. */
export interface RelayProcess {
  readonly pid: number;
  readonly publisher: string;
  readonly events: readonly RelayEvent[];
  /** The latest events with their times, a line each, and how it ended: for the message of a test that failed. */
  timeline(): string;
  /** Resolves when the process has exited. */
  readonly exited: Promise<unknown>;
  signal(signal: NodeJS.Signals): void;
  resources(): Promise<Resources>;
  /** Kills it if it still runs, and waits for its exit. */
  end(): Promise<void>;
}

const latestEvents = 60;
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Starts a relay as a child process, and waits until it delivers. */
export async function startRelayProcess(settings: RelayProcessOptions): Promise<RelayProcess> {
  const argument: RelayProcessOptions = {
    ...settings,
    topics: settings.topics.map(({ name, rules }) => ({ name, rules })),
  };
  const { heapMiB } = settings;
  const limits = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`];
  const child = spawn(
    process.execPath,
    [...limits, builtProgram('relay-main'), JSON.stringify(argument)],
    // Asked by the last one.
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  );
  const exited = once(child, 'exit');
  const events: RelayEvent[] = [];
  const lines: string[] = [];
  const complaint = await untilReady(child, (line) => {
    events.push(JSON.parse(line) as RelayEvent);
    lines.push(`${new Date().toISOString()} ${line}`);
  });
  const pid = child.pid ?? 0;
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    pid,
    publisher: String(pid),
    events,
    timeline: () => [`relay ${pid}:`, ...lines.slice(-latestEvents), endOf(child), complaint()].join('\n'),
    exited,
    signal: (signal) => void child.kill(signal),
    async resources() {
      const answered = once(child, 'message');
      child.send('resources');
      const [answer] = (await answered) as [Resources];
      return answer;
    },
    async end() {
      if (running()) child.kill('SIGKILL');
      await exited;
    },
  };
}

function endOf({ exitCode, signalCode }: ChildProcess): string {
  return exitCode === null && signalCode === null ? 'It has not ended.' : `Ended: ${exitCode ?? signalCode}.`;
}

/** Reads the lines of the process: `ready` once, then one event per line. @returns what it has written to its standard error */
async function untilReady(child: ChildProcess, told: (line: string) => void): Promise<() => string> {
  if (child.stdout === null || child.stderr === null) throw new Error('The relay process has no output.');
  let complaint = '';
  child.stderr.on('data', (data: Buffer) => (complaint = (complaint + data.toString()).slice(-4_000)));
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line === 'ready') resolve();
      else if (line.startsWith('{')) told(line);
    });
    child.on('exit', (code, signal) =>
      reject(new Error(`The relay process ended early (${code ?? signal}): ${complaint}`)),
    );
  });
  return () => complaint;
}
