import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode, LocalOptions, ServerSource } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { makeDataFolder } from '../process/data-folder.ts';
import { freePort } from '../process/free-port.ts';
import { progressStep } from '../process/progress-step.ts';
import { type ServerProcess, startServer } from '../process/server-process.ts';
import { startOnFreePorts } from '../process/start-on-free-ports.ts';
import { dockerCandidate } from '../providers/docker.ts';
import { requireListener, splitAddress } from '../providers/given-address.ts';
import { firstOffer, mapOffer, sourceOrder } from '../providers/source-order.ts';
import {
  type BrokerNode,
  clusterIdOf,
  type KafkaLauncher,
  kafkaContainer,
  kafkaProgram,
} from './kafka-launcher.ts';
import { kafkaFromRegistry, kafkaOnPath } from './kafka-runtime.ts';
import type { SecureListener } from './kafka-secure.ts';

/** A Kafka cluster for development and tests. */
export interface LocalKafka {
  /** `host:port` of each broker. */
  readonly brokers: readonly string[];
  /** `host:port` of each broker's listener with TLS and passwords; empty unless requested. */
  readonly secureBrokers: readonly string[];
  readonly source: ServerSource;
  /**
   * The brokers that were started here; none for a cluster given by its address. The first is the only controller:
   * while it is stopped, no leader is elected and no other broker can rejoin.
   */
  readonly nodes: readonly LocalNode[];
  /** Ends the brokers and removes temporary data. A cluster given by its address is left alone. Safe to repeat. */
  stop(): Promise<void>;
}

export interface LocalKafkaOptions extends LocalOptions {
  /** How many brokers, 1 to 9. More than one is never run in Docker. @defaultValue 1 */
  readonly brokers?: number;
  /** Adds a listener with TLS and passwords; such brokers are never run in Docker. @defaultValue plain listeners only */
  readonly secure?: SecureListener;
}

const readyWithinMs = 120_000;
const defaultPort = 9092;
const maxBrokers = 9;

/**
 * Starts Kafka 3.7 to 4.x in KRaft mode, or takes the cluster that `KAFKA_BROKERS` names (separated by commas).
 *
 * Topics are not created automatically. Internal topics have as many replicas as there are brokers, at most 3.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when no source offers one (with the reason of each), when it
 * does not start (with the end of its log), or when nothing listens at a given address; `OUTBOX_OPTION_INVALID` for a
 * number of brokers out of range.
 */
export async function startKafka(options: LocalKafkaOptions): Promise<LocalKafka> {
  const { brokers = 1, env, secure } = options;
  if (!Number.isInteger(brokers) || brokers < 1 || brokers > maxBrokers) {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `brokers must be 1 to ${maxBrokers}, but it is ${brokers}.`,
    );
  }
  const given = env['KAFKA_BROKERS'] ?? '';
  const order = sourceOrder(given, env);
  if (order[0] === 'address') return givenCluster(given);
  const context = await openContext(options);
  const { source, found: launcher } = await firstOffer<KafkaLauncher>('Kafka', order, {
    path: async () => mapOffer(await kafkaOnPath(context), (programs) => kafkaProgram(context, programs)),
    ...(brokers === 1 && secure === undefined
      ? { docker: () => dockerCandidate(context, kafkaContainer(context)) }
      : {}),
    registry: async () =>
      mapOffer(await kafkaFromRegistry(context), (programs) => kafkaProgram(context, programs)),
  });
  const started = await startOnFreePorts(async () => {
    const planned = await planBrokers(context, brokers, secure);
    return { planned, nodes: await startBrokers(context, launcher, planned) };
  });
  const { nodes } = started;
  return {
    brokers: nodes.map((node) => node.address),
    secureBrokers: started.planned
      .flatMap((node) => node.secure ?? [])
      .map(({ port }) => `127.0.0.1:${port}`),
    source,
    nodes,
    stop: () => endBrokers(nodes),
  };
}

async function givenCluster(given: string): Promise<LocalKafka> {
  const brokers = given.split(',').map((broker) => broker.trim());
  for (const broker of brokers) {
    const { host, port } = splitAddress('KAFKA_BROKERS', broker, defaultPort);
    await requireListener('KAFKA_BROKERS', host, port);
  }
  return { brokers, secureBrokers: [], source: 'address', nodes: [], stop: async () => {} };
}

async function startBrokers(
  context: LocalContext,
  launcher: KafkaLauncher,
  nodes: readonly BrokerNode[],
): Promise<readonly ServerProcess[]> {
  const folders = await Promise.all(nodes.map(({ nodeId }) => makeDataFolder(context, `kafka-${nodeId}`)));
  const [first] = folders;
  const clusterId = first === undefined ? '' : await clusterIdOf(first);
  const start = async (node: BrokerNode): Promise<ServerProcess> => {
    const data = folders[node.nodeId - 1] ?? (await makeDataFolder(context, `kafka-${node.nodeId}`));
    await launcher.prepare(data, node, clusterId);
    const address = `127.0.0.1:${node.port}`;
    return startServer(context, {
      data,
      name: nodes.length === 1 ? 'Kafka' : `Kafka broker ${node.nodeId}`,
      nodeId: node.nodeId,
      address,
      command: launcher.command(data, node, clusterId),
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      readyWithinMs,
      // Loaded here, so that servers without Kafka need no client of it.
      probe: async () => (await import('./kafka-probe.ts')).probe(address, node.nodeId),
    });
  };
  const ports = nodes.map(({ port }) => port).join(', ');
  return progressStep(context.tell, `Kafka: starting on port ${ports}`, async () => {
    const results = await Promise.allSettled(nodes.map(start));
    const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure === undefined) return started;
    await endBrokers(started);
    throw failure.reason;
  });
}

async function planBrokers(
  context: LocalContext,
  brokers: number,
  secure: SecureListener | undefined,
): Promise<readonly BrokerNode[]> {
  const taken = new Set<number>();
  const take = async (wanted?: number): Promise<number> => {
    const port = await freePort(wanted);
    if (taken.has(port)) return take();
    taken.add(port);
    return port;
  };
  const controllerPort = await take();
  const nodes: BrokerNode[] = [];
  for (let nodeId = 1; nodeId <= brokers; nodeId += 1) {
    const wanted = context.ports.kafka === undefined ? undefined : context.ports.kafka + nodeId - 1;
    const node = { nodeId, port: await take(wanted), controllerPort, brokers };
    nodes.push(secure === undefined ? node : { ...node, secure: { ...secure, port: await take() } });
  }
  return nodes;
}

/** The controller is stopped last: the others need it for their controlled shutdown. */
async function endBrokers(nodes: readonly ServerProcess[]): Promise<void> {
  const [controller, ...others] = nodes;
  await Promise.all(others.map((node) => node.end()));
  await controller?.end();
}
