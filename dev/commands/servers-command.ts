import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { exitCodes, type Output } from '../../src/cli/output.ts';
import { OutboxError } from '../../src/core/errors.ts';
import {
  deleteKept,
  type Environment,
  keptData,
  projectName,
  runServers,
  type ServerAddresses,
  type ServerChoice,
  type StartedServers,
  withServers,
} from '../servers/index.ts';
import { givenPorts, type KeptFlags, keptOptions } from './kept-flags.ts';

/** What `temporal-outbox servers` is to do. */
export interface ServersRequest {
  readonly env: Environment;
  readonly choice: ServerChoice;
  readonly kept: KeptFlags;
  /** Deletes what is kept under the name, and starts nothing. */
  readonly reset: boolean;
  /** A command and its arguments, run while the servers are there; empty: they run until the signal fires. */
  readonly command: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Starts servers for development and prints their addresses, or runs a command with these in its environment and stops the
 * servers with it. Answers the exit code of the command.
 */
export async function serversCommand(request: ServersRequest, output: Output): Promise<number> {
  const { command, env, kept, reset, signal } = request;
  const options = {
    env,
    ...request.choice,
    progress: (line: string) => output.trouble(line),
    signal,
  };
  if (reset) {
    const name = kept.name ?? projectName(process.cwd());
    await deleteKept(env, name, (line) => output.line(line));
    output.value({ ok: true, deleted: keptData(env, name) });
    return exitCodes.ok;
  }
  if (command.length > 0) {
    // For the time of the command, unless a name says whose they are.
    const named = kept.name === undefined ? { ports: await givenPorts(kept) } : await keptOptions(kept);
    return withServers({ ...options, ...named }, (_, addresses, lost) =>
      run(command, addresses, { env, signal: AbortSignal.any([signal, lost]) }),
    );
  }
  await runServers({
    ...options,
    ...(await keptOptions(kept)),
    print: (line) => output.line(line),
    started: (servers, addresses) => output.value(answerOf(servers, addresses)),
  });
  return exitCodes.ok;
}

function answerOf({ kafka, postgres, temporal }: StartedServers, addresses: ServerAddresses) {
  return {
    ok: true,
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    temporalUiUrl: temporal.uiUrl,
    ...(kafka === undefined ? {} : { kafkaBrokers: kafka.brokers }),
    env: addresses,
  };
}

/** Runs the command until it ends. A signal is passed on to it, and the servers outlive it. */
async function run(
  [program = '', ...args]: readonly string[],
  addresses: ServerAddresses,
  { env, signal }: Pick<ServersRequest, 'env' | 'signal'>,
): Promise<number> {
  const child = spawn(program, args, { env: { ...env, ...addresses }, stdio: 'inherit' });
  const stop = (): void => void child.kill('SIGTERM');
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await once(child, 'exit');
    return child.exitCode ?? exitCodes.failed;
  } catch (cause) {
    throw new OutboxError('OUTBOX_OPTION_INVALID', `The command ${program} cannot be run.`, {
      cause,
      details: { option: 'command', value: program },
    });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
