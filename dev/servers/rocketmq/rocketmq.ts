import { askMasters } from '../../../src/brokers/rocketmq/client/administration.ts';
import type { RocketmqConnection } from '../../../src/brokers/rocketmq/client/connection.ts';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode, LocalOptions, ServerSource } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { makeDataFolder } from '../process/data-folder.ts';
import { freePort } from '../process/free-port.ts';
import { progressStep } from '../process/progress-step.ts';
import { startServer } from '../process/server-process.ts';
import { startOnFreePorts } from '../process/start-on-free-ports.ts';
import { requireListener, splitAddress } from '../providers/given-address.ts';
import { firstOffer, sourceOrder } from '../providers/source-order.ts';
import {
  type ProxySettings,
  type RocketmqPorts,
  type RocketmqPrograms,
  rocketmqFromRegistry,
  type WantedProxy,
} from './rocketmq-programs.ts';
import type { SecureProxy } from './rocketmq-secure.ts';

/** A RocketMQ installation for development and tests. */
export interface LocalRocketmq {
  /** `host:port` of its proxies, for clients. */
  readonly endpoints: readonly string[];
  /** `host:port` of the broker, to create topics; absent if RocketMQ was given by its address. */
  readonly broker?: string;
  /** `host:port` of the name server; absent if RocketMQ was given by its address. */
  readonly names?: string;
  readonly source: ServerSource;
  /** The process of proxy and broker, if it was started here. */
  readonly node?: LocalNode;
  /** Ends the processes and removes temporary data. One given by its address is left alone. Safe to repeat. */
  stop(): Promise<void>;
}

export interface LocalRocketmqOptions extends LocalOptions {
  /** TLS in addition to plain connections, and the only user that may connect. @defaultValue neither */
  readonly secure?: SecureProxy;
  /** Further settings of the proxy, named as in `rmq-proxy.json`. @defaultValue the proxy's defaults */
  readonly settings?: ProxySettings;
}

const readyWithinMs = 180_000;
const defaultPort = 8081;

/**
 * Starts RocketMQ 5, as a name server and a proxy with a broker, or uses the proxies that `ROCKETMQ_ENDPOINTS` names
 * (separated by commas or semicolons).
 *
 * Topics and groups are not created on first use. The only source is Maven: the image runs one program per container, and
 * the scripts of an installation on PATH reserve 8 GB of memory.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` if it cannot be fetched (with the reason), if it does not
 * start (with the end of its log), or if nothing listens at a given address.
 */
export async function startRocketmq(options: LocalRocketmqOptions): Promise<LocalRocketmq> {
  const { env, secure, settings = {} } = options;
  const given = env['ROCKETMQ_ENDPOINTS'] ?? '';
  const order = sourceOrder(given, env);
  if (order[0] === 'address') return givenProxies(given);
  const context = await openContext(options);
  const { source, found: programs } = await firstOffer<RocketmqPrograms>('RocketMQ', order, {
    registry: () => rocketmqFromRegistry(context),
  });
  return { ...(await startOnFreePorts(() => startBoth(context, programs, { secure, settings }))), source };
}

async function givenProxies(given: string): Promise<LocalRocketmq> {
  const endpoints = given.split(/[,;]/).map((endpoint) => endpoint.trim());
  for (const endpoint of endpoints) {
    const { host, port } = splitAddress('ROCKETMQ_ENDPOINTS', endpoint, defaultPort);
    await requireListener('ROCKETMQ_ENDPOINTS', host, port);
  }
  return { endpoints, source: 'address', stop: async () => {} };
}

async function startBoth(
  context: LocalContext,
  programs: RocketmqPrograms,
  wanted: WantedProxy,
): Promise<Omit<Required<LocalRocketmq>, 'source'>> {
  const namesData = await makeDataFolder(context, 'rocketmq-names');
  const data = await makeDataFolder(context, 'rocketmq');
  const ports = await freePorts();
  await programs.prepare(data, ports, wanted);
  await programs.prepare(namesData, ports, wanted);
  const common = { stopSignal: 'SIGTERM', discardSignal: 'SIGKILL', readyWithinMs } as const;
  const start = (
    spec: Pick<Parameters<typeof startServer>[1], 'data' | 'name' | 'nodeId' | 'command'>,
    port: number,
    answers = (): Promise<unknown> => Promise.resolve(),
  ) =>
    startServer(context, {
      ...common,
      ...spec,
      address: `127.0.0.1:${port}`,
      async probe() {
        await requireListener(spec.name, '127.0.0.1', port);
        await answers();
      },
    });
  return progressStep(context.tell, `RocketMQ: starting on port ${ports.proxy}`, async () => {
    // A broker that finds no name server at its start registers only half a minute later.
    const names = await start(
      {
        data: namesData,
        name: 'RocketMQ name server',
        nodeId: 1,
        command: programs.names(namesData, wanted),
      },
      ports.names,
    );
    try {
      const node = await start(
        { data, name: 'RocketMQ', nodeId: 2, command: programs.proxy(data, ports, wanted) },
        ports.proxy,
        () => registered(ports, wanted),
      );
      const stop = async (): Promise<void> => {
        await Promise.all([names.end(), node.end()]);
      };
      return {
        endpoints: [node.address],
        broker: `127.0.0.1:${ports.broker}`,
        names: `127.0.0.1:${ports.names}`,
        node,
        stop,
      };
    } catch (error) {
      await names.end();
      throw error;
    }
  });
}

async function freePorts(): Promise<RocketmqPorts> {
  return {
    names: await freePort(),
    broker: await freePort(),
    proxy: await freePort(),
    remoting: await freePort(),
  };
}

/** The proxy may be there before the broker has registered: until then topics cannot be created. */
function registered({ names, proxy }: RocketmqPorts, { secure }: WantedProxy): Promise<unknown> {
  const connection: RocketmqConnection = {
    servers: [`127.0.0.1:${proxy}`],
    nameServers: [`127.0.0.1:${names}`],
    tls: false,
    // Only whether it answers is asked.
    brokerTls: secure?.enforced === true && { rejectUnauthorized: false },
    credentials: secure,
    namespace: '',
    requestTimeoutMs: 2_000,
    invisibleMs: 0,
  };
  return askMasters(connection, 'start', () => Promise.resolve());
}
