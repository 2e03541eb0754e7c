import { join } from 'node:path';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode, LocalOptions, ServerSource } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { type DataFolder, makeDataFolder } from '../process/data-folder.ts';
import { freePort } from '../process/free-port.ts';
import { progressStep } from '../process/progress-step.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { startServer } from '../process/server-process.ts';
import { startOnFreePorts } from '../process/start-on-free-ports.ts';
import { watchAnswers } from '../process/watch-answers.ts';
import { containerCommand, dockerCandidate, keptVolumeOf, pullImage } from '../providers/docker.ts';
import { requireListener, splitAddress } from '../providers/given-address.ts';
import { dockerImages } from '../providers/pinned-versions.ts';
import { firstOffer, mapOffer, sourceOrder } from '../providers/source-order.ts';
import { temporalFromRegistry, temporalOnPath } from './temporal-binary.ts';

/** A Temporal server for development and tests. */
export interface LocalTemporal {
  /** `host:port` of the gRPC frontend. */
  readonly address: string;
  /** URL of the web UI. For a server given by its address: `TEMPORAL_UI_URL`, else its port + 1000. */
  readonly uiUrl: string;
  readonly namespace: string;
  readonly source: ServerSource;
  /** The path of the `temporal` program, if the server runs as one. */
  readonly cliPath?: string;
  /** Its process, where it was started here. */
  readonly node?: LocalNode;
  /** Ends the server and removes temporary data. A server given by its address is left alone. Safe to repeat. */
  stop(): Promise<void>;
}

/** The custom search attributes of the server, all of type Keyword. */
export const searchAttributes = ['OutboxTopic', 'OutboxKey', 'OutboxRef'] as const;

/** How the server is run: as a program, or as a container. */
interface TemporalLauncher {
  readonly cliPath?: string;
  prepare(): Promise<void>;
  command(data: DataFolder, port: number, uiPort: number): ServerCommand;
}

const readyWithinMs = 90_000;
const defaultPort = 7233;

/**
 * Starts a Temporal dev server with its web UI, or takes the one that `TEMPORAL_ADDRESS` (and `TEMPORAL_NAMESPACE`)
 * names.
 *
 * It has the namespace `default` and the search attributes OutboxTopic, OutboxKey and OutboxRef. Its state is a
 * SQLite file, so that it survives a restart of `node`; a power failure may lose the last instants.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when no source offers one (with the reason of each), when it
 * does not start (with the end of its log), or when nothing listens at the given address.
 */
export async function startTemporal(options: LocalOptions): Promise<LocalTemporal> {
  const given = options.env['TEMPORAL_ADDRESS'] ?? '';
  const order = sourceOrder(given, options.env);
  if (order[0] === 'address') return givenServer(given, options);
  const context = await openContext(options);
  const asProgram = (file: string) => programLauncher(context, file);
  const { source, found: launcher } = await firstOffer<TemporalLauncher>('Temporal', order, {
    path: async () => mapOffer(await temporalOnPath(context), asProgram),
    docker: () => dockerCandidate(context, containerLauncher(context)),
    registry: async () => mapOffer(await temporalFromRegistry(context), asProgram),
  });
  return { ...(await startOnFreePorts(() => startBy(context, launcher))), source };
}

async function givenServer(given: string, { env }: LocalOptions): Promise<LocalTemporal> {
  const { host, port } = splitAddress('TEMPORAL_ADDRESS', given, defaultPort);
  await requireListener('TEMPORAL_ADDRESS', host, port);
  return {
    address: given,
    uiUrl: env['TEMPORAL_UI_URL'] || `http://${host}:${port + 1000}`,
    namespace: env['TEMPORAL_NAMESPACE'] || 'default',
    source: 'address',
    stop: async () => {},
  };
}

async function startBy(
  context: LocalContext,
  launcher: TemporalLauncher,
): Promise<Omit<LocalTemporal, 'source'>> {
  const data = await makeDataFolder(context, 'temporal');
  await launcher.prepare();
  const port = await freePort(context.ports.temporal);
  const uiPort = await freePort(context.ports.temporalUi);
  const address = `127.0.0.1:${port}`;
  const uiUrl = `http://127.0.0.1:${uiPort}`;
  const node = await progressStep(context.tell, `Temporal: starting on port ${port}, UI on ${uiPort}`, () =>
    startServer(context, {
      data,
      name: 'Temporal',
      nodeId: 1,
      address,
      command: launcher.command(data, port, uiPort),
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      readyWithinMs,
      probe: () => probe(address, uiUrl),
    }),
  );
  const { cliPath } = launcher;
  const watch = watchAnswers({
    name: 'Temporal',
    logFile: node.logFile,
    examine: () => errorOf(address, 'default'),
    restart: async () => {
      await node.stop();
      await node.start();
    },
    tell: context.tell,
    died: context.died,
  });
  const stop = async (): Promise<void> => {
    await watch.stop();
    await node.end();
  };
  const server = { address, uiUrl, namespace: 'default', node, stop };
  return cliPath === undefined ? server : { ...server, cliPath };
}

function programLauncher(context: LocalContext, file: string): TemporalLauncher {
  return {
    cliPath: file,
    prepare: async () => {},
    command: (data, port, uiPort) => ({
      file,
      args: devServer('127.0.0.1', port, uiPort, join(data.path, 'temporal.db')),
      env: context.env,
      cwd: data.path,
    }),
  };
}

function containerLauncher(context: LocalContext): TemporalLauncher {
  const image = dockerImages.temporal;
  return {
    prepare: () => pullImage(context, image),
    command: (data, port, uiPort) =>
      containerCommand(context, {
        name: `temporal-outbox-${data.runId}`,
        image,
        ports: [
          [port, defaultPort],
          [uiPort, 8233],
        ],
        dataPath: '/data',
        keptVolume: context.keep && keptVolumeOf(context.keep, 'temporal'),
        user: 'root', // a new volume belongs to root
        args: devServer('0.0.0.0', defaultPort, 8233, '/data/temporal.db'),
      }),
  };
}

function devServer(ip: string, port: number, uiPort: number, file: string): readonly string[] {
  return [
    'server',
    'start-dev',
    `--ip=${ip}`,
    `--port=${port}`,
    `--ui-port=${uiPort}`,
    `--db-filename=${file}`,
    // Three times as many workflow starts per second as with the default journal.
    '--sqlite-pragma=journal_mode=wal',
    '--sqlite-pragma=synchronous=normal',
    ...searchAttributes.map((name) => `--search-attribute=${name}=Keyword`),
    '--log-level=warn',
  ];
}

/** gRPC's codes of a server that is away, or too slow. */
const noAnswer: ReadonlySet<number> = new Set([1, 4, 14]);

/** What Temporal says of its database has the code of a server that is away. */
const databaseFailed = /operation failed/;

/**
 * The error with which Temporal answers a question to its database. A call that was interrupted may leave the only connection of a dev
 * server broken: it then answers nothing else until it is restarted.
 */
export async function errorOf(address: string, namespace: string): Promise<string | undefined> {
  // Without repeats, of which only the deadline would be told.
  const connection = Connection.lazy({ address, connectTimeout: 2_000, interceptors: [] });
  try {
    await connection.withDeadline(Date.now() + 4_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return undefined;
  } catch (error) {
    if (!isGrpcServiceError(error)) return undefined;
    const answered = !noAnswer.has(error.code) || databaseFailed.test(error.details);
    return answered ? error.details : undefined;
  } finally {
    await connection.close();
  }
}

/** Succeeds when workflows can be started with the search attributes, and the UI answers. */
async function probe(address: string, uiUrl: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000 });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace: 'default',
    });
    const missing = searchAttributes.filter((name) => !(name in (customAttributes ?? {})));
    if (missing.length > 0)
      throw new Error(`The search attributes ${missing.join(', ')} are not registered yet.`);
  } finally {
    await connection.close();
  }
  await fetch(uiUrl, { method: 'HEAD', signal: AbortSignal.timeout(2_000) });
}
