import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { OutboxError } from '../../../src/core/errors.ts';
import { reasonOf } from '../../../src/core/reason.ts';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode } from '../local-options.ts';
import { removeContainer, signalContainer } from '../providers/docker.ts';
import { recordOf } from './data-folder.ts';
import { type Guarded, guard, unguard } from './exit-guard.ts';
import { identityOf } from './process-identity.ts';
import { type RunRecord, removeRun, writeRunRecord } from './run-record.ts';
import type { ServerSpec } from './server-command.ts';
import { logFileOf, logTail, openLog } from './server-log.ts';

const probeEveryMs = 50;
const probeGivesUpAfterMs = 5_000;
const endsWithinMs = 20_000;

/** A server process that ends with this process, or is reaped by the next start. */
export interface ServerProcess extends LocalNode, Guarded {}

/** Starts a server and waits until it answers. Stops it and cleans up if it does not. */
export async function startServer(context: LocalContext, spec: ServerSpec): Promise<ServerProcess> {
  const server = serverProcess(context, spec);
  guard(server);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.end();
    throw error;
  }
}

function serverProcess(context: LocalContext, spec: ServerSpec): ServerProcess {
  const logFile = logFileOf(context.cache, spec.data.runId);
  let child: ChildProcess | undefined;
  /** The one that answers, and nobody has told to end. */
  let serving: ChildProcess | undefined;
  const signalAll = (signal: NodeJS.Signals) => {
    if (child === undefined || hasEnded(child)) return;
    serving = undefined;
    if (spec.command.container !== undefined) signalContainer(spec.command.container, signal);
    else signalProcess(child, signal);
  };
  const stop = async (signal: NodeJS.Signals) => {
    if (child === undefined) return;
    const leaving = child;
    signalAll(signal);
    if (await endedWithin(leaving, endsWithinMs)) return;
    signalAll('SIGKILL');
    await endedWithin(leaving, Number.POSITIVE_INFINITY);
  };
  const forget = () => {
    removeContainer(spec.command.container, spec.command.volume);
    removeRun(context.cache, spec.data.runId);
    unguard(server);
  };
  const server: ServerProcess = {
    id: spec.nodeId,
    address: spec.address,
    logFile,
    get pid() {
      return child === undefined || hasEnded(child) ? undefined : child.pid;
    },
    stop: (signal = spec.stopSignal) => stop(signal),
    async start() {
      const giveUpAtMs = performance.now() + spec.readyWithinMs;
      while (child === undefined || hasEnded(child)) {
        const started = spawnRecorded(context, spec, logFile);
        child = started;
        try {
          await untilReady(context, spec, started, logFile);
          serving = started;
          started.once('exit', (code, signal) => {
            if (serving === started) context.died({ server: spec.name, how: endOf(code, signal), logFile });
          });
        } catch (error) {
          const again = hasEnded(started) && spec.survived?.test(logTail(logFile)) === true;
          if (!again || performance.now() > giveUpAtMs) throw error;
          await delay(probeEveryMs);
        }
      }
    },
    async end() {
      await stop(spec.data.kept ? spec.stopSignal : spec.discardSignal);
      forget();
    },
    endNow() {
      signalAll(spec.data.kept ? spec.stopSignal : spec.discardSignal);
      // With kept data the server may need time to shut down: its record stays, so that the next start waits for it.
      if (!spec.data.kept) forget();
    },
  };
  return server;
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`;
}

/** The server gets its own process group, so that Ctrl-C signals only this process, which then stops the server. */
function spawnRecorded(context: LocalContext, spec: ServerSpec, logFile: string): ChildProcess {
  const { file, args, env, cwd, uid, gid, container, volume } = spec.command;
  const log = openLog(logFile);
  const child = spawn(file, args, {
    env,
    detached: true,
    stdio: ['ignore', log, log],
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  const identity = child.pid === undefined ? undefined : identityOf(child.pid);
  const record: RunRecord = {
    ...recordOf(spec.data, spec.name),
    stopSignal: spec.data.kept ? spec.stopSignal : spec.discardSignal,
    ...(identity === undefined ? {} : { child: identity }),
    ...(container === undefined ? {} : { container }),
    ...(volume === undefined ? {} : { volume }),
  };
  writeRunRecord(context.cache, record);
  closeSync(log);
  child.on('error', () => {}); // a program that cannot be started has no pid, which untilReady sees
  child.unref();
  return child;
}

async function untilReady(context: LocalContext, spec: ServerSpec, child: ChildProcess, logFile: string) {
  const giveUpAtMs = performance.now() + spec.readyWithinMs;
  for (;;) {
    const answer = await oneProbe(spec);
    if (child.pid === undefined || hasEnded(child))
      throw startFailed(spec, logFile, 'ended instead of starting');
    if (answer === 'ready') return;
    context.signal?.throwIfAborted();
    if (performance.now() > giveUpAtMs) throw startFailed(spec, logFile, `did not answer (${answer})`);
    await endedWithin(child, probeEveryMs);
  }
}

/** 'ready', or the reason why the server is not. */
async function oneProbe(spec: ServerSpec): Promise<string> {
  const tooSlow = new AbortController();
  try {
    return await Promise.race([
      spec.probe().then(() => 'ready'),
      delay(probeGivesUpAfterMs, 'no answer', { signal: tooSlow.signal }),
    ]);
  } catch (error) {
    return reasonOf(error);
  } finally {
    tooSlow.abort();
  }
}

function startFailed(spec: ServerSpec, logFile: string, what: string): OutboxError {
  const tail = logTail(logFile);
  return new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `${spec.name} ${what}. Its log is ${logFile}:\n${tail}`,
    {
      details: { server: spec.name, address: spec.address, logFile, logTail: tail },
    },
  );
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function endedWithin(child: ChildProcess, ms: number): Promise<boolean> {
  if (hasEnded(child)) return true;
  return new Promise((resolve) => {
    const timer = Number.isFinite(ms) ? setTimeout(() => settle(false), ms) : undefined;
    const onExit = () => settle(true);
    const settle = (ended: boolean) => {
      clearTimeout(timer);
      child.off('exit', onExit);
      child.unref();
      resolve(ended);
    };
    child.ref();
    child.once('exit', onExit);
  });
}

function signalProcess(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    // SIGKILL goes to the whole group; other signals go to the server alone, which handles its own children.
    process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal);
  } catch {
    // The process has just ended.
  }
}
