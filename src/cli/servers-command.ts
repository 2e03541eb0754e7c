import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { OutboxError } from '../core/errors.ts';
import {
  type Environment,
  type LocalServers,
  type OptionalServer,
  optionalServers,
  runServers,
  type ServerAddresses,
  withServers,
} from '../local/index.ts';
import { exitCodes, type Output } from './output.ts';

/** What `temporal-outbox servers` is to do. */
export interface ServersRequest {
  readonly env: Environment;
  /** Names of servers beside PostgreSQL, Temporal and Kafka. */
  readonly also: readonly string[];
  /** A command and its arguments, run while the servers are there; empty: they run until the signal fires. */
  readonly command: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Starts servers for development and prints their addresses, or runs a command with these in its environment and stops the
 * servers with it. Answers the exit code of the command.
 */
export async function serversCommand(request: ServersRequest, output: Output): Promise<number> {
  const { command, env, signal } = request;
  const options = {
    env,
    also: optionalNames(request.also),
    progress: (line: string) => output.trouble(line),
    signal,
  };
  if (command.length > 0) return withServers(options, (_, addresses) => run(command, addresses, request));
  await runServers({
    ...options,
    print: (line) => output.line(line),
    started: (servers, addresses) => output.value(answerOf(servers, addresses)),
  });
  return exitCodes.ok;
}

function answerOf({ kafka, postgres, temporal }: LocalServers, addresses: ServerAddresses) {
  return {
    ok: true,
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    temporalUiUrl: temporal.uiUrl,
    kafkaBrokers: kafka.brokers,
    env: addresses,
  };
}

/** The names of `--with`. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function optionalNames(names: readonly string[]): readonly OptionalServer[] {
  return names.map(checkedName);
}

function checkedName(name: string): OptionalServer {
  const known = optionalServers.find((one) => one === name);
  if (known !== undefined) return known;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--with knows ${optionalServers.join(', ')}, and not "${name}".`,
    { details: { option: 'with', value: name } },
  );
}

/** Runs the command until it ends. A signal is passed on to it, and the servers outlive it. */
async function run(
  [program = '', ...args]: readonly string[],
  addresses: ServerAddresses,
  { env, signal }: ServersRequest,
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
