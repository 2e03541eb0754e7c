import { spawnSync } from 'node:child_process';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import { progressStep } from '../process/progress-step.ts';
import { runCommand } from '../process/run-command.ts';
import type { ServerCommand } from '../process/server-command.ts';
import type { Candidate } from './source-order.ts';

/** A server as a container that is removed when it ends. */
export interface ContainerSpec {
  /** Unique name, also of the temporary volume. */
  readonly name: string;
  readonly image: string;
  /** Host ports of 127.0.0.1 to container ports. */
  readonly ports: readonly (readonly [host: number, container: number])[];
  /** Where the data volume is mounted. */
  readonly dataPath: string;
  /** Volume to keep. @defaultValue one that is removed with the server */
  readonly keptVolume?: string | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  /** The user inside the container. @defaultValue the image's */
  readonly user?: string;
  /** The arguments after the image. */
  readonly args?: readonly string[];
}

const keptInVolumes = ['postgres', 'temporal', 'kafka', 'redis', 'rabbitmq'] as const;
type KeptInVolume = (typeof keptInVolumes)[number];

const answerWithinMs = 10_000;

/** Offers `found` if Docker answers here; otherwise gives the reason. */
export async function dockerCandidate<T>(context: LocalContext, found: T): Promise<Candidate<T>> {
  const info = ['info', '--format', '{{.ServerVersion}}'];
  try {
    await runCommand('docker', info, {
      env: context.env,
      signal: context.signal,
      timeoutInMs: answerWithinMs,
    });
    return { found };
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error;
    return { missing: 'Docker does not answer; install or start it (docker info).' };
  }
}

/** Pulls the image if it is missing, and reports progress; `docker run` would pull it silently. */
export async function pullImage(context: LocalContext, image: string): Promise<void> {
  const { env, signal } = context;
  try {
    await runCommand('docker', ['image', 'inspect', image], { env, signal });
  } catch {
    await progressStep(context.tell, `Docker: pulling ${image}`, (onLine) =>
      runCommand('docker', ['pull', image], { env, signal, onLine }),
    );
  }
}

/** A foreground `docker run`: its output is the server's log, and it exits when the server does. */
export function containerCommand(context: LocalContext, spec: ContainerSpec): ServerCommand {
  const volume = spec.keptVolume ?? spec.name;
  return {
    file: 'docker',
    args: [
      'run',
      '--rm',
      `--name=${spec.name}`,
      ...spec.ports.map(([host, container]) => `--publish=127.0.0.1:${host}:${container}`),
      `--volume=${volume}:${spec.dataPath}`,
      ...Object.keys(spec.environment ?? {}).map((name) => `--env=${name}`),
      ...(spec.user === undefined ? [] : [`--user=${spec.user}`]),
      spec.image,
      ...(spec.args ?? []),
    ],
    // Values are passed in the environment: every user of the machine can read the command line.
    env: { ...context.env, ...spec.environment },
    container: spec.name,
    ...(spec.keptVolume === undefined ? { volume: spec.name } : {}),
  };
}

/** Sends a signal to the main process of a container. */
export function signalContainer(name: string, signal: NodeJS.Signals): void {
  spawnSync('docker', ['kill', `--signal=${signal}`, name]);
}

/** Removes a container, running or not, and its temporary volume. */
export function removeContainer(container: string | undefined, volume: string | undefined): void {
  if (container !== undefined) spawnSync('docker', ['rm', '--force', container]);
  if (volume !== undefined) spawnSync('docker', ['volume', 'rm', '--force', volume]);
}

/** The volume that a server keeps its data in, under this name. */
export function keptVolumeOf(keep: string, server: KeptInVolume): string {
  return `temporal-outbox-${keep}-${server}`;
}

/** Removes the volumes of this name; without Docker, or volumes, nothing. */
export function removeKeptVolumes(keep: string): void {
  const volumes = keptInVolumes.map((server) => keptVolumeOf(keep, server));
  spawnSync('docker', ['volume', 'rm', '--force', ...volumes]);
}
