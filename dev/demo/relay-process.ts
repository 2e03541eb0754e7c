import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Addresses } from './shop-config.ts';
import { until } from './until.ts';

/** `temporal-outbox relay` as a child process. */
export interface RelayProcess {
  readonly pid: number;
  /** Time from the start of the process until it was ready. */
  readonly readyAfterMs: number;
  signal(signal: 'SIGCONT' | 'SIGKILL' | 'SIGSTOP'): void;
  /** Resolves when the process has ended. */
  readonly exited: Promise<unknown>;
  /** The end of its standard error output; empty if there is none. */
  complaint(): string;
  /** Stops it by SIGTERM, as an operator does; after 15 s by SIGKILL. */
  stop(): Promise<void>;
}

const command = path.join(__dirname, '../../bin/temporal-outbox.js');
const config = path.join(__dirname, 'outbox.config.js');
const readyWithinMs = 60_000;
const stopWithinMs = 15_000;

/** Starts a relay and waits until it delivers. */
export async function startRelayProcess(addresses: Addresses, signal: AbortSignal): Promise<RelayProcess> {
  const beganAt = performance.now();
  const child = spawn(process.execPath, [command, 'relay', '--json', '--config', config], {
    env: {
      ...process.env,
      DATABASE_URL: addresses.databaseUrl,
      TEMPORAL_ADDRESS: addresses.temporalAddress,
      TEMPORAL_NAMESPACE: addresses.temporalNamespace,
      KAFKA_BROKERS: addresses.kafkaBrokers,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const exited = once(child, 'exit');
  const { ready, complaint } = listen(child);
  const gone = new AbortController();
  child.once('close', (code, name) => {
    gone.abort(new Error(`The relay ended (${code ?? name}) before it delivered: ${complaint()}`));
  });
  try {
    const either = AbortSignal.any([signal, gone.signal]);
    await until('the relay delivers', ready, { withinMs: readyWithinMs, signal: either });
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    pid: child.pid ?? 0,
    readyAfterMs: performance.now() - beganAt,
    signal: (name) => void child.kill(name),
    exited,
    complaint,
    stop: () => stop(child, exited),
  };
}

function listen(child: ChildProcess): { ready: () => boolean; complaint: () => string } {
  let ready = false;
  let complaint = '';
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (eventOf(line) === 'ready') ready = true;
    });
  }
  child.stderr?.on('data', (data: Buffer) => {
    complaint = (complaint + data.toString()).slice(-2_000);
  });
  return { ready: () => ready, complaint: () => complaint };
}

/** Each line of a relay's log is an object in JSON, which names its event. */
function eventOf(line: string): unknown {
  const facts: unknown = JSON.parse(line);
  return typeof facts === 'object' && facts !== null && 'event' in facts ? facts.event : undefined;
}

async function stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  // A frozen process does not handle SIGTERM.
  child.kill('SIGCONT');
  const patience = new AbortController();
  const force = delay(stopWithinMs, undefined, { signal: patience.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await exited;
  patience.abort();
  await force;
}
