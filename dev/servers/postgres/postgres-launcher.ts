import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import type { DataFolder, ServerUser } from '../process/data-folder.ts';
import { progressStep } from '../process/progress-step.ts';
import { runCommand } from '../process/run-command.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { postgresUser } from '../process/server-user.ts';
import { containerCommand, keptVolumeOf, pullImage } from '../providers/docker.ts';
import { dockerImages } from '../providers/pinned-versions.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';

/** How PostgreSQL is run: as a program, or as a container. */
export interface PostgresLauncher {
  /** Name of the data folder. Includes the major version of a program, because another one cannot read the data. */
  readonly dataName: string;
  readonly user: ServerUser | undefined;
  /** Creates the cluster if there is none yet. */
  prepare(data: DataFolder, login: PostgresLogin): Promise<void>;
  command(data: DataFolder, login: PostgresLogin, port: number, settings: readonly string[]): ServerCommand;
}

/** The superuser of a local cluster. */
export interface PostgresLogin {
  readonly user: string;
  readonly password: string;
  readonly passwordFile: string;
}

/** Runs the binaries of a folder. */
export async function postgresProgram(
  context: LocalContext,
  binaries: PostgresBinaries,
): Promise<PostgresLauncher> {
  const user = await postgresUser(context);
  const identity = user ?? {};
  const clusterOf = (data: DataFolder) => join(data.path, 'cluster');
  return {
    dataName: `postgres-${binaries.version[0]}`,
    user,
    async prepare(data, login) {
      const cluster = clusterOf(data);
      if (existsSync(cluster)) return;
      // Renamed when complete, so that a cluster whose initdb was interrupted is never started.
      const partial = `${cluster}.partial`;
      await rm(partial, { recursive: true, force: true });
      const access = [`--username=${login.user}`, `--pwfile=${login.passwordFile}`, '--auth=scram-sha-256'];
      const locale = ['--encoding=UTF8', '--locale=C', '--no-instructions'];
      await progressStep(context.tell, 'PostgreSQL: initdb', () =>
        runCommand(join(binaries.bin, 'initdb'), [`--pgdata=${partial}`, '--no-sync', ...access, ...locale], {
          env: context.env,
          cwd: data.path,
          signal: context.signal,
          ...identity,
        }),
      );
      await rename(partial, cluster);
    },
    command: (data, _login, port, settings) => ({
      file: join(binaries.bin, 'postgres'),
      // No Unix socket: its path length is limited, and nothing uses it.
      args: [
        '-D',
        clusterOf(data),
        '-h',
        '127.0.0.1',
        '-p',
        String(port),
        ...flags(['unix_socket_directories=', ...settings]),
      ],
      env: context.env,
      cwd: data.path,
      ...identity,
    }),
  };
}

/** Runs the pinned image. The data is stored in a Docker volume. */
export function postgresContainer(context: LocalContext): PostgresLauncher {
  const image = dockerImages.postgres;
  return {
    dataName: 'postgres-docker',
    user: undefined,
    prepare: () => pullImage(context, image),
    command: (data, login, port, settings) =>
      containerCommand(context, {
        name: `temporal-outbox-${data.runId}`,
        image,
        ports: [[port, 5432]],
        dataPath: '/var/lib/postgresql',
        keptVolume: context.keep && keptVolumeOf(context.keep, 'postgres'),
        environment: {
          POSTGRES_USER: login.user,
          POSTGRES_PASSWORD: login.password,
          POSTGRES_DB: 'postgres',
          POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C',
        },
        args: flags(settings),
      }),
  };
}

/** The login of a data folder, created on first use. */
export async function loginOf(data: DataFolder, owner: ServerUser | undefined): Promise<PostgresLogin> {
  const passwordFile = join(data.path, 'password');
  try {
    await writeFile(passwordFile, randomBytes(18).toString('base64url'), { flag: 'wx', mode: 0o600 });
    if (owner !== undefined) await chown(passwordFile, owner.uid, owner.gid);
  } catch (error) {
    if (!existsSync(passwordFile)) throw error;
  }
  return { user: 'postgres', password: await readFile(passwordFile, 'utf8'), passwordFile };
}

function flags(settings: readonly string[]): readonly string[] {
  return settings.flatMap((setting) => ['-c', setting]);
}
