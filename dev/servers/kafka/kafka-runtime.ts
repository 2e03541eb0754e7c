import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import type { Environment } from '../local-options.ts';
import { runCommand } from '../process/run-command.ts';
import type { ServerCommand } from '../process/server-command.ts';
import { findOnPath, isExecutable, realFolderOf } from '../providers/find-program.ts';
import { javaProgram } from '../providers/java-program.ts';
import { mavenPackage } from '../providers/maven-jars.ts';
import { pinned, supported } from '../providers/pinned-versions.ts';
import { describeVersionMismatch } from '../providers/program-version.ts';
import type { Candidate } from '../providers/source-order.ts';
import { inRange, parseVersion } from '../providers/version-range.ts';

/** Kafka's command-line programs, from scripts or jars. */
export interface KafkaPrograms {
  /** Formats storage (`kafka-storage …`). */
  storage(...args: readonly string[]): ServerCommand;
  /** Runs a broker with a properties file; log files other than standard output go to the folder. */
  server(properties: string, logFolder: string): ServerCommand;
}

const heap = '-Xmx512m';

/** Kafka's scripts on PATH. */
export async function kafkaOnPath(context: LocalContext): Promise<Candidate<KafkaPrograms>> {
  const start = await findOnPath(context.env, 'kafka-server-start.sh', 'kafka-server-start');
  if (start === undefined)
    return { missing: describeVersionMismatch('kafka-server-start.sh', supported.kafka, []) };
  const java = await javaProgram(context);
  if ('missing' in java) return java;
  const storage = await storageScript(start);
  if (storage === undefined) return { missing: `${start} has no kafka-storage.sh beside it.` };
  const output = await versionOutput(context, start);
  const version = kafkaVersion(output);
  if (version === undefined || !inRange(version, supported.kafka)) {
    return {
      missing: describeVersionMismatch('Kafka', supported.kafka, [`${start} ${output.trim().slice(0, 80)}`]),
    };
  }
  return {
    found: {
      storage: (...args) => ({ file: storage, args, env: { ...context.env, KAFKA_HEAP_OPTS: heap } }),
      server: (properties, logFolder) => ({
        file: start,
        args: [properties],
        env: { ...context.env, KAFKA_HEAP_OPTS: heap, LOG_DIR: logFolder },
      }),
    },
  };
}

async function versionOutput(context: LocalContext, start: string): Promise<string> {
  try {
    return await runCommand(start, ['--version'], { env: context.env, signal: context.signal });
  } catch (error) {
    if (error instanceof OutboxError) return error.message;
    throw error;
  }
}

/** Parses the output of `kafka-server-start.sh --version`: `4.1.1 (Commit:be816b82d25370ce)`. */
export function kafkaVersion(output: string): ReturnType<typeof parseVersion> {
  const version = /^(\d+(?:\.\d+)+)\S*\s+\(Commit/m.exec(output)?.[1];
  return version === undefined ? undefined : parseVersion(version);
}

async function storageScript(start: string): Promise<string | undefined> {
  for (const folder of [dirname(start), await realFolderOf(start)]) {
    for (const name of ['kafka-storage.sh', 'kafka-storage']) {
      if (await isExecutable(join(folder, name))) return join(folder, name);
    }
  }
  return undefined;
}

/** The pinned jars, run by Java. */
export async function kafkaFromRegistry(context: LocalContext): Promise<Candidate<KafkaPrograms>> {
  const java = await javaProgram(context);
  if ('missing' in java) return java;
  const folder = await mavenPackage(context, {
    name: `kafka-${pinned.kafka}`,
    label: 'Kafka',
    artifacts: [
      `org.apache.kafka:kafka_2.13:${pinned.kafka}`,
      `org.apache.kafka:kafka-tools:${pinned.kafka}`,
      `org.apache.logging.log4j:log4j-slf4j-impl:${pinned.kafkaLogging}`,
    ],
    finish: (partial) => writeFile(join(partial, 'log4j2.xml'), loggingConfiguration),
  });
  if ('missing' in folder) return folder;
  const run = (mainClass: string, args: readonly string[]): ServerCommand => ({
    file: java.found,
    args: [heap, ...jvmFlags(folder.found), ...performanceFlags(context.env), mainClass, ...args],
    env: context.env,
  });
  return {
    found: {
      storage: (...args) => run('kafka.tools.StorageTool', args),
      server: (properties) => run('kafka.Kafka', [properties]),
    },
  };
}

/** The JVM flags in `KAFKA_JVM_PERFORMANCE_OPTS`, the variable that Kafka's own scripts read. */
export function performanceFlags({ KAFKA_JVM_PERFORMANCE_OPTS: flags = '' }: Environment): readonly string[] {
  return flags.split(' ').filter((flag) => flag !== '');
}

function jvmFlags(folder: string): readonly string[] {
  return [
    '-XX:+ExitOnOutOfMemoryError',
    '-Djava.awt.headless=true',
    `-Dlog4j2.configurationFile=${join(folder, 'log4j2.xml')}`,
    '-cp',
    join(folder, 'jars', '*'),
  ];
}

// At INFO Kafka logs every segment operation; for an error message, warnings and the server's lifecycle are enough.
const loggingConfiguration = `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="warn">
  <Appenders>
    <Console name="console"><PatternLayout pattern="%d{ISO8601} %p %m (%c)%n%ex"/></Console>
  </Appenders>
  <Loggers>
    <Logger name="kafka.server" level="info"/>
    <Root level="warn"><AppenderRef ref="console"/></Root>
  </Loggers>
</Configuration>
`;
