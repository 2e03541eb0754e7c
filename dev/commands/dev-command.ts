import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { requireConfigFile } from '../../src/cli/load-config.ts';
import { exitCodes, type Output } from '../../src/cli/output.ts';
import { requirePackages } from '../../src/core/packages.ts';
import {
  type Environment,
  freePort,
  keptData,
  type ServerAddresses,
  type ServerChoice,
  withServers,
} from '../servers/index.ts';
import { consumerProgram } from './consumer-program.ts';
import { type KeptFlags, keptOptions } from './kept-flags.ts';
import { type SideProcess, startGuard, startSideProcess } from './side-process.ts';

/** What `temporal-outbox dev` is to do. */
export interface DevRequest {
  readonly env: Environment;
  readonly config: string;
  /** The program of the consumer; `undefined`: none is run. */
  readonly consumer: string | undefined;
  readonly choice: ServerChoice;
  readonly kept: KeptFlags;
  readonly signal: AbortSignal;
}

/** `node --watch` starts its program again when a file changes that the program has loaded. */
const watched = ['--watch', '--watch-preserve-output'];
const main = path.join(__dirname, '../../bin/temporal-outbox.js');

/**
 * Starts servers, prepares database and topics, and runs a relay and a consumer, each started again when its files change,
 * until the signal fires. Every line of theirs begins with the name of its process.
 */
export async function devCommand(request: DevRequest, output: Output): Promise<number> {
  const { consumer, env, signal } = request;
  requireConfigFile(request.config);
  const program = consumer === undefined ? undefined : consumerProgram(consumer);
  const kept = await keptOptions(request.kept);
  try {
    return await withServers(
      { ...kept, ...request.choice, env, signal, progress: (line) => output.trouble(line) },
      async ({ temporal }, addresses, lost) => {
        tellAddresses(addresses, temporal.uiUrl, output);
        output.line(`Their data is kept in ${keptData(env, kept.keep)}.`);
        const until = AbortSignal.any([signal, lost]);
        return await runAll({ ...request, signal: until }, program, { ...env, ...addresses }, output);
      },
    );
  } catch (error) {
    if (signal.aborted) return exitCodes.ok;
    throw error;
  }
}

function tellAddresses(addresses: ServerAddresses, uiUrl: string, output: Output): void {
  for (const [name, address] of Object.entries(addresses)) output.line(`export ${name}='${address}'`);
  output.line(`Temporal UI: ${uiUrl}`);
  output.line('Ctrl-C stops all.');
  output.value({ ok: true, env: addresses, temporalUiUrl: uiUrl });
}

async function runAll(
  { config, signal }: DevRequest,
  consumer: readonly string[] | undefined,
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<number> {
  const guard = startGuard();
  const running: SideProcess[] = [];
  const start = (name: string, args: readonly string[]): SideProcess => {
    const tell = prefixed(name, running.length, output);
    const one = startSideProcess({ args, env, guard, tell });
    running.push(one);
    return one;
  };
  const stopAll = async (): Promise<void> => {
    await Promise.all(running.map((one) => one.stop()));
    guard.stop();
  };
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    const preparing = start('migrate', [main, 'migrate', '--create', '--config', config]);
    const prepared = await Promise.race([preparing.exited, stopped]);
    if (prepared !== 0) return signal.aborted ? exitCodes.ok : exitCodes.failed;
    const relay = start('relay', [...watched, main, 'dev-relay', '--config', config]);
    // It is not worth an end of the others: it may lack its packages or its port.
    if (isInstalled('api')) {
      const port = String(await freePort(usualApiPort));
      start('api', [...watched, main, 'dev-api', '--port', port, '--config', config]);
    }
    const others = consumer === undefined ? [] : [start('consumer', [...watched, ...consumer])];
    await Promise.race([stopped, ...[relay, ...others].map(({ exited }) => exited)]);
    // They end by a signal only.
    return signal.aborted ? exitCodes.ok : exitCodes.failed;
  } finally {
    await stopAll();
  }
}

const usualApiPort = 7_676;

function isInstalled(part: 'api'): boolean {
  try {
    requirePackages(part);
    return true;
  } catch {
    return false;
  }
}

/** Cyan, green, magenta, yellow. */
const colours = [36, 32, 35, 33];
const nameWidth = 'consumer'.length;

/** Shows lines behind the name of their process, which has a colour on a terminal. With `--json` they go to standard error. */
function prefixed(name: string, index: number, output: Output) {
  const label = `${name.padEnd(nameWidth)} |`;
  return (line: string, from: 'stdout' | 'stderr'): void => {
    const stream = from === 'stderr' || output.json ? process.stderr : process.stdout;
    const coloured = stream.isTTY && !process.env['NO_COLOR'];
    const text = coloured
      ? `\u001b[${colours[index % colours.length]}m${label}\u001b[0m ${line}`
      : `${label} ${stripVTControlCharacters(line)}`;
    if (stream === process.stderr) output.trouble(text);
    else output.line(text);
  };
}
