import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import type { DataFolder } from '../process/data-folder.ts';
import { runCommand } from '../process/run-command.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { containerCommand, keptVolumeOf, pullImage } from '../providers/docker.ts';
import { dockerImages } from '../providers/pinned-versions.ts';
import type { KafkaPrograms } from './kafka-runtime.ts';
import { type SecureListener, scramArguments, withSecureListener, writeSecureFile } from './kafka-secure.ts';
import { type BrokerPlan, brokerSettings, containerEnvironment, propertiesText } from './kafka-settings.ts';

/** A broker of a cluster, before its folder is known. */
export interface BrokerNode extends Omit<BrokerPlan, 'logFolder' | 'listenHost'> {
  /** Only for brokers that run as programs. */
  readonly secure?: SecureListener & { readonly port: number };
}

/** How a broker is run: as a program, or as a container. */
export interface KafkaLauncher {
  prepare(data: DataFolder, node: BrokerNode, clusterId: string): Promise<void>;
  command(data: DataFolder, node: BrokerNode, clusterId: string): ServerCommand;
}

/** Runs brokers by Kafka's programs. */
export function kafkaProgram(context: LocalContext, programs: KafkaPrograms): KafkaLauncher {
  const propertiesOf = (data: DataFolder) => join(data.path, 'server.properties');
  return {
    async prepare(data, node, clusterId) {
      const logFolder = join(data.path, 'topics');
      await mkdir(logFolder, { recursive: true });
      const { secure } = node;
      const plain = brokerSettings({ ...node, logFolder });
      const settings =
        secure === undefined
          ? plain
          : withSecureListener(plain, { ...secure, file: await writeSecureFile(data.path, secure) });
      await writeFile(propertiesOf(data), propertiesText(settings));
      if (existsSync(join(logFolder, 'meta.properties'))) return;
      const scram = secure === undefined ? [] : scramArguments(secure);
      const format = programs.storage('format', '-t', clusterId, '-c', propertiesOf(data), ...scram);
      const { file, args, env } = format;
      await runCommand(file, args, { env, signal: context.signal });
    },
    command: (data) => ({ ...programs.server(propertiesOf(data), join(data.path, 'logs')), cwd: data.path }),
  };
}

/**
 * Runs one broker in the pinned image.
 *
 * Several brokers would need a Docker network and separate listeners; they run as programs instead.
 */
export function kafkaContainer(context: LocalContext): KafkaLauncher {
  const image = dockerImages.kafka;
  return {
    prepare: () => pullImage(context, image),
    command: (data, node, clusterId) => {
      const logFolder = '/var/lib/kafka/data';
      const settings = brokerSettings({ ...node, logFolder, listenHost: '0.0.0.0' });
      return containerCommand(context, {
        name: `temporal-outbox-${data.runId}`,
        image,
        // The same port inside and outside: the broker connects to itself at its advertised address.
        ports: [[node.port, node.port]],
        dataPath: logFolder,
        keptVolume: context.keep && keptVolumeOf(context.keep, 'kafka'),
        environment: {
          ...containerEnvironment(settings),
          CLUSTER_ID: clusterId,
          KAFKA_HEAP_OPTS: '-Xmx512m',
        },
      });
    },
  };
}

/** The cluster id of a data folder, created on first use. */
export async function clusterIdOf(data: DataFolder): Promise<string> {
  const file = join(data.path, 'cluster-id');
  if (!existsSync(file)) await writeFile(file, randomClusterId());
  return readFile(file, 'utf8');
}

/** 16 random bytes in Kafka's encoding; a leading hyphen would be parsed as an option. */
function randomClusterId(): string {
  for (;;) {
    const id = randomBytes(16).toString('base64url');
    if (!id.startsWith('-')) return id;
  }
}
