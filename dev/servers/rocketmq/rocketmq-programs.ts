import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import type { DataFolder } from '../process/data-folder.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { javaProgram } from '../providers/java-program.ts';
import { mavenPackage } from '../providers/maven-jars.ts';
import { pinned } from '../providers/pinned-versions.ts';
import type { Candidate } from '../providers/source-order.ts';
import { brokerUsers, proxySecurity, type SecureProxy, secureFiles, tlsFlags } from './rocketmq-secure.ts';

/** Settings of a proxy, named as in `rmq-proxy.json`. */
export type ProxySettings = Readonly<Record<string, string | number | boolean>>;

/** How to configure a proxy. */
export interface WantedProxy {
  readonly secure: SecureProxy | undefined;
  readonly settings: ProxySettings;
}

/** The ports of one RocketMQ installation, all on 127.0.0.1. */
export interface RocketmqPorts {
  readonly names: number;
  readonly broker: number;
  /** gRPC, for clients. */
  readonly proxy: number;
  /** The proxy's port for RocketMQ 4 clients; not used here. */
  readonly remoting: number;
}

/** RocketMQ's programs: a name server, and a proxy with an embedded broker, which saves a process. */
export interface RocketmqPrograms {
  prepare(data: DataFolder, ports: RocketmqPorts, wanted: WantedProxy): Promise<void>;
  names(data: DataFolder, wanted: WantedProxy): ServerCommand;
  proxy(data: DataFolder, ports: RocketmqPorts, wanted: WantedProxy): ServerCommand;
}

const files = {
  names: 'names.conf',
  broker: 'broker.conf',
  proxy: 'rmq-proxy.json',
  ...secureFiles,
};

/** The pinned jars, run by Java. */
export async function rocketmqFromRegistry(context: LocalContext): Promise<Candidate<RocketmqPrograms>> {
  const java = await javaProgram(context);
  if ('missing' in java) return java;
  const group = 'org.apache.rocketmq';
  const folder = await mavenPackage(context, {
    name: `rocketmq-${pinned.rocketmq}`,
    label: 'RocketMQ',
    // The proxy depends on the broker.
    artifacts: [`${group}:rocketmq-namesrv:${pinned.rocketmq}`, `${group}:rocketmq-proxy:${pinned.rocketmq}`],
  });
  if ('missing' in folder) return folder;
  const run = (
    data: DataFolder,
    { secure }: WantedProxy,
    mainClass: string,
    args: readonly string[],
  ): ServerCommand => ({
    file: java.found,
    args: [
      ...jvmFlags(data.path),
      ...tlsFlags(data.path, secure),
      '-cp',
      join(folder.found, 'jars', '*'),
      mainClass,
      ...args,
    ],
    env: { ...context.env, ROCKETMQ_HOME: data.path },
    cwd: data.path,
  });
  const at = (data: DataFolder, name: keyof typeof files) => join(data.path, files[name]);
  return {
    found: {
      prepare: writeSettings,
      names: (data, wanted) =>
        run(data, wanted, `${group}.namesrv.NamesrvStartup`, ['-c', at(data, 'names')]),
      proxy: (data, ports, wanted) =>
        run(data, wanted, `${group}.proxy.ProxyStartup`, [
          '--proxyMode=local',
          `--proxyConfigPath=${at(data, 'proxy')}`,
          `--brokerConfigPath=${at(data, 'broker')}`,
          `--namesrvAddr=127.0.0.1:${ports.names}`,
        ]),
    },
  };
}

function jvmFlags(folder: string): readonly string[] {
  const open = ['java.base/java.nio', 'java.base/sun.nio.ch'].map(
    (name) => `--add-opens=${name}=ALL-UNNAMED`,
  );
  return [
    '-Xms64m',
    '-Xmx256m',
    '-XX:MaxDirectMemorySize=256m',
    '-XX:+ExitOnOutOfMemoryError',
    // The servers run for minutes: too short for the optimizing compiler to pay off.
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED',
    ...open,
    // Their logs are written below the home folder.
    `-Duser.home=${folder}`,
  ];
}

async function writeSettings(
  data: DataFolder,
  ports: RocketmqPorts,
  { secure, settings }: WantedProxy,
): Promise<void> {
  await mkdir(join(data.path, 'store'), { recursive: true });
  const write = (name: keyof typeof files, text: string): Promise<void> =>
    writeFile(join(data.path, files[name]), text, { mode: 0o600 });
  await write('names', `listenPort=${ports.names}\n`);
  await write('broker', properties({ ...brokerSettings(data.path, ports), ...brokerUsers(secure) }));
  await write(
    'proxy',
    JSON.stringify({ ...settings, ...proxySettings(data.path, ports), ...proxySecurity(data.path, secure) }),
  );
  if (secure === undefined) return;
  await write('cert', secure.cert);
  await write('key', secure.key);
}

function brokerSettings(folder: string, { broker, names }: RocketmqPorts): Readonly<Record<string, string>> {
  return {
    brokerClusterName: cluster,
    brokerName: 'broker-1',
    brokerId: '0',
    brokerIP1: '127.0.0.1',
    listenPort: String(broker),
    namesrvAddr: `127.0.0.1:${names}`,
    storePathRootDir: join(folder, 'store'),
    // A typo in the name of a topic or group must fail instead of creating it.
    autoCreateTopicEnable: 'false',
    autoCreateSubscriptionGroup: 'false',
    // Files are allocated in full size.
    mappedFileSizeCommitLog: String(64 * 1_024 * 1_024),
  };
}

const cluster = 'DefaultCluster';

function proxySettings(folder: string, ports: RocketmqPorts): ProxySettings {
  return {
    rocketMQClusterName: cluster,
    proxyMode: 'LOCAL',
    namesrvAddr: `127.0.0.1:${ports.names}`,
    brokerConfigPath: join(folder, files.broker),
    grpcServerPort: ports.proxy,
    remotingListenPort: ports.remoting,
  };
}

function properties(settings: Readonly<Record<string, string>>): string {
  // In properties files, a backslash escapes the next character.
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}`);
  return `${lines.join('\n')}\n`;
}
