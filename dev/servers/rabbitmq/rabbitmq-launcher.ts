import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import type { DataFolder } from '../process/data-folder.ts';
import { runCommand } from '../process/run-command.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { containerCommand, keptVolumeOf, pullImage } from '../providers/docker.ts';
import { findOnPath, realFolderOf } from '../providers/find-program.ts';
import { dockerImages, supported } from '../providers/pinned-versions.ts';
import { describeVersionMismatch } from '../providers/program-version.ts';
import type { Candidate } from '../providers/source-order.ts';
import { inRange, parseVersion } from '../providers/version-range.ts';

/** The ports of a node, for clients and for its command-line tools. */
export interface RabbitmqPorts {
  readonly amqp: number;
  readonly tools: number;
}

/** How RabbitMQ is run: as a program, or as a container. */
export interface RabbitmqLauncher {
  /** @param settings more lines of `rabbitmq.conf` */
  prepare(data: DataFolder, ports: RabbitmqPorts, settings: readonly string[]): Promise<void>;
  command(data: DataFolder, ports: RabbitmqPorts): ServerCommand;
  /** Runs `rabbitmqctl` for the node. @returns its output */
  control(data: DataFolder, ports: RabbitmqPorts, args: readonly string[]): Promise<string>;
}

/** The folder of the server's scripts, if `rabbitmq-server` is on PATH and supported. */
export async function rabbitmqOnPath({ env }: LocalContext): Promise<Candidate<string>> {
  const file = await findOnPath(env, 'rabbitmq-server');
  if (file === undefined)
    return {
      missing: `${describeVersionMismatch('rabbitmq-server', supported.rabbitmq, [])} On Debian: apt-get install rabbitmq-server.`,
    };
  // On Debian it is a wrapper that switches to another user; the wrapped script is in the same folder.
  const folder = await realFolderOf(file);
  const scripts = await realFolderOf(join(folder, 'rabbitmq-server')).catch(() => folder);
  const version = await versionIn(scripts);
  const parsed = version === undefined ? undefined : parseVersion(version);
  if (parsed !== undefined && inRange(parsed, supported.rabbitmq)) return { found: scripts };
  return {
    missing: describeVersionMismatch('rabbitmq-server', supported.rabbitmq, [version ?? 'an unknown one']),
  };
}

/** Read from the name of the plugin `rabbit`, because running the program takes seconds. */
async function versionIn(scripts: string): Promise<string | undefined> {
  const plugins = await readdir(join(dirname(scripts), 'plugins')).catch(() => []);
  return plugins.map((name) => /^rabbit-(\d+(?:\.\d+)*)/.exec(name)?.[1]).find((one) => one !== undefined);
}

/** Runs the scripts in a folder as the current user, isolated from RabbitMQ's configuration on this machine. */
export function rabbitmqProgram(context: LocalContext, scripts: string): RabbitmqLauncher {
  const environmentOf = (data: DataFolder, { tools }: RabbitmqPorts) => ({
    ...context.env,
    // The location of the Erlang cookie, which authenticates the tools to the node.
    HOME: join(data.path, 'home'),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `${context.keep ?? data.runId}@localhost`,
    RABBITMQ_DIST_PORT: String(tools),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    RABBITMQ_MNESIA_BASE: join(data.path, 'mnesia'),
    RABBITMQ_LOG_BASE: join(data.path, 'log'),
    RABBITMQ_CONFIG_FILE: join(data.path, 'rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: join(data.path, 'no-environment'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(data.path, 'plugins'),
    // Makes the script exec the server instead of spawning it, so that signals reach the server.
    RUNNING_UNDER_SYSTEMD: 'true',
  });
  return {
    async prepare(data, { amqp }, settings) {
      const lines = [...commonSettings, `listeners.tcp.1 = 127.0.0.1:${amqp}`, ...settings];
      await mkdir(join(data.path, 'home'), { recursive: true, mode: 0o700 });
      await writeFile(join(data.path, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
      await writeFile(join(data.path, 'plugins'), '[].\n');
    },
    command: (data, ports) => ({
      file: join(scripts, 'rabbitmq-server'),
      args: [],
      env: environmentOf(data, ports),
      cwd: data.path,
    }),
    control: (data, ports, args) =>
      runCommand(join(scripts, 'rabbitmqctl'), [...args], {
        env: environmentOf(data, ports),
        cwd: data.path,
        signal: context.signal,
      }),
  };
}

/** Runs the pinned image. The data is stored in a Docker volume. */
export function rabbitmqContainer(context: LocalContext): RabbitmqLauncher {
  const image = dockerImages.rabbitmq;
  const nameOf = (data: DataFolder) => `temporal-outbox-${data.runId}`;
  return {
    prepare: () => pullImage(context, image),
    command: (data, { amqp }) =>
      containerCommand(context, {
        name: nameOf(data),
        image,
        ports: [[amqp, 5672]],
        dataPath: '/var/lib/rabbitmq',
        keptVolume: context.keep && keptVolumeOf(context.keep, 'rabbitmq'),
        // The data folder is named after the node, whose default name contains the id of the container.
        environment: { RABBITMQ_NODENAME: 'rabbit@localhost' },
      }),
    control: (data, _ports, args) =>
      runCommand('docker', ['exec', nameOf(data), 'rabbitmqctl', ...args], { env: context.env }),
  };
}

const commonSettings = ['log.console = true', 'log.file = false', 'disk_free_limit.absolute = 1MB'];
