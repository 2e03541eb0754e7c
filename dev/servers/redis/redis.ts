import { once } from 'node:events';
import { connect } from 'node:net';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode, LocalOptions, ServerSource } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { type DataFolder, makeDataFolder } from '../process/data-folder.ts';
import { freePort } from '../process/free-port.ts';
import { progressStep } from '../process/progress-step.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { startServer } from '../process/server-process.ts';
import { startOnFreePorts } from '../process/start-on-free-ports.ts';
import { containerCommand, dockerCandidate, keptVolumeOf, pullImage } from '../providers/docker.ts';
import { requireListener } from '../providers/given-address.ts';
import { dockerImages } from '../providers/pinned-versions.ts';
import { firstOffer, mapOffer, sourceOrder } from '../providers/source-order.ts';
import { redisFromRegistry, redisOnPath } from './redis-program.ts';

/** A Redis server for development and tests. */
export interface LocalRedis {
  /** Connection string: `redis://127.0.0.1:<port>`. */
  readonly url: string;
  readonly source: ServerSource;
  /** Its process, if it was started here. */
  readonly node?: LocalNode;
  /** Ends the server and removes temporary data. A server given by its address is left alone. Safe to repeat. */
  stop(): Promise<void>;
}

export interface RedisStartOptions extends LocalOptions {
  /** More arguments of `redis-server`. @defaultValue none */
  readonly settings?: readonly string[];
}

/** How the server is run: as a program, or as a container. */
interface RedisLauncher {
  prepare(): Promise<void>;
  command(data: DataFolder, port: number): ServerCommand;
}

const readyWithinMs = 30_000;
const defaultPort = 6379;
const answersWithinMs = 2_000;

/**
 * Starts Redis 6.2 to 8, or uses the one that `REDIS_URL` names.
 *
 * It listens on 127.0.0.1 only, without a password. Writes go to its append-only file; a power failure, or a kill while
 * the disk is busy, may lose those of the last second or two.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` if no source has one (with the reason of each), if it does not
 * start (with the end of its log), or if nothing listens at the given address; `OUTBOX_CONFIG_INVALID` if `REDIS_URL` is
 * not a Redis URL.
 */
export async function startRedis(options: RedisStartOptions): Promise<LocalRedis> {
  const given = options.env['REDIS_URL'] ?? '';
  const order = sourceOrder(given, options.env);
  if (order[0] === 'address') {
    await requireGivenServer(given);
    return { url: given, source: 'address', stop: async () => {} };
  }
  const context = await openContext(options);
  const more = options.settings ?? [];
  const asProgram = (file: string) => programLauncher(context, file, more);
  const { source, found: launcher } = await firstOffer<RedisLauncher>('Redis', order, {
    path: async () => mapOffer(await redisOnPath(context), asProgram),
    docker: () => dockerCandidate(context, containerLauncher(context, more)),
    registry: async () => mapOffer(await redisFromRegistry(context), asProgram),
  });
  return { ...(await startOnFreePorts(() => startBy(context, launcher))), source };
}

async function requireGivenServer(given: string): Promise<void> {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') {
    // The message omits the URL: it may contain a password.
    throw new OutboxError('OUTBOX_CONFIG_INVALID', 'REDIS_URL must be redis://host:port.', {
      details: { variable: 'REDIS_URL' },
    });
  }
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  await requireListener('REDIS_URL', host, url.port === '' ? defaultPort : Number(url.port));
}

async function startBy(
  context: LocalContext,
  launcher: RedisLauncher,
): Promise<Pick<Required<LocalRedis>, 'url' | 'node' | 'stop'>> {
  const data = await makeDataFolder(context, 'redis');
  await launcher.prepare();
  const port = await freePort(context.ports.redis);
  const node = await progressStep(context.tell, `Redis: starting on port ${port}`, () =>
    startServer(context, {
      data,
      name: 'Redis',
      nodeId: 1,
      address: `127.0.0.1:${port}`,
      command: launcher.command(data, port),
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      readyWithinMs,
      probe: () => probe(port),
    }),
  );
  return { url: `redis://127.0.0.1:${port}`, node, stop: () => node.end() };
}

function programLauncher(context: LocalContext, file: string, more: readonly string[]): RedisLauncher {
  return {
    prepare: async () => {},
    command: (data, port) => ({
      file,
      args: [...settings, ...more, '--bind', '127.0.0.1', '--port', String(port), '--dir', data.path],
      env: context.env,
      cwd: data.path,
    }),
  };
}

function containerLauncher(context: LocalContext, more: readonly string[]): RedisLauncher {
  const image = dockerImages.redis;
  return {
    prepare: () => pullImage(context, image),
    command: (data, port) =>
      containerCommand(context, {
        name: `temporal-outbox-${data.runId}`,
        image,
        ports: [[port, defaultPort]],
        dataPath: '/data',
        keptVolume: context.keep && keptVolumeOf(context.keep, 'redis'),
        // Protected mode off: inside the container, connections through Docker do not come from the loopback address.
        args: ['redis-server', ...settings, ...more, '--protected-mode', 'no'],
      }),
  };
}

const settings = ['--appendonly', 'yes', '--save', ''];

/** Succeeds when the server accepts commands: while it loads its data it answers with an error. */
async function probe(port: number): Promise<void> {
  const signal = AbortSignal.timeout(answersWithinMs);
  const socket = connect({ host: '127.0.0.1', port });
  try {
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    if (!answer.toString().startsWith('+PONG'))
      throw new Error(`It answered ${answer.toString().trim().slice(0, 80)}`);
  } finally {
    socket.destroy();
  }
}
