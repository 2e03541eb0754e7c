import path from 'node:path';
import { moduleTextFor } from './module-text.ts';
import type { Project } from './project.ts';

/** A file that is to be written. Paths are relative to the project, with slashes. */
export interface NewFile {
  readonly path: string;
  readonly text: string;
}

/** The name of the constant for a topic: `order-placed` is `orderPlaced`. A single word may be taken, so it gets a second. */
export function constantOf(topic: string): string {
  const [first = '', ...others] = topic.split(/[^A-Za-z0-9]+/).filter((part) => part !== '');
  const rest = others.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('') || 'Topic';
  const name = first.charAt(0).toLowerCase() + first.slice(1) + rest;
  return /^\d/.test(name) ? `_${name}` : name;
}

/** What a project needs to send and to handle messages of one topic. */
export function newFiles(project: Project, topic: string): readonly NewFile[] {
  const ending = project.language === 'typescript' ? 'ts' : 'js';
  const file = (name: string, lines: readonly string[]): NewFile => ({
    path: path.posix.join(project.sources, `${name}.${ending}`),
    text: `${lines.join('\n')}\n`,
  });
  return [
    file('topics', topicsFile(project, topic)),
    file('outbox.config', configFile(project, topic)),
    file('consume', consumerFile(project, topic)),
  ];
}

function topicsFile(project: Project, topic: string): readonly string[] {
  const { exportName, importNames } = moduleTextFor(project);
  return [
    importNames(['topic'], 'temporal-outbox'),
    importNames(['z'], 'zod'),
    '',
    '/** The contract between sender and consumer: the name of the message, and what it carries. */',
    exportName(constantOf(topic), `topic('${topic}', z.object({ id: z.string() }))`),
  ];
}

function configFile(project: Project, topic: string): readonly string[] {
  const { exportDefault, importNames } = moduleTextFor(project);
  const { dotenv, importEnding, urlVariable } = project;
  const constant = constantOf(topic);
  return [
    ...(dotenv ? [importNames(['existsSync'], 'node:fs')] : []),
    importNames(['defineConfig', 'env'], 'temporal-outbox'),
    importNames(['kafka'], 'temporal-outbox/transports'),
    importNames([constant], `./topics${importEnding}`),
    '',
    ...(dotenv ? ["if (existsSync('.env')) process.loadEnvFile();", ''] : []),
    '/** Servers and topics, for relay, consumer and commands. A service that only sends does not need it. */',
    exportDefault(
      [
        'defineConfig({',
        `  database: { url: env('${urlVariable}') },`,
        "  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },",
        `  topics: [${constant}],`,
        "  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS', 'localhost:9092') }) },",
        '})',
      ].join('\n'),
    ),
  ];
}

function consumerFile(project: Project, topic: string): readonly string[] {
  const { importDefault, importNames } = moduleTextFor(project);
  const constant = constantOf(topic);
  const { client, close, imports, made } = clientIn(project);
  return [
    ...imports.before,
    importNames(['env'], 'temporal-outbox'),
    importNames(['consumer', ...imports.ofConsumer], 'temporal-outbox/consumer'),
    ...imports.after,
    importDefault('config', `./outbox.config${project.importEnding}`),
    importNames([constant], `./topics${project.importEnding}`),
    '',
    '// A client of its own, with 15 connections.',
    made,
    '',
    `const consuming = consumer(${client}, { config, group: '${project.name}' }).on(`,
    `  ${constant},`,
    '  async (_tx, { payload }) => {',
    '    // What you write by this transaction commits together with the id of the message, once.',
    `    console.log(\`${topic}: \${JSON.stringify(payload)}\`);`,
    '  },',
    ');',
    '',
    'consuming.start().catch((error) => {',
    '  // A stop while it waits for a server is no failure.',
    "  if (error.code !== 'OUTBOX_STOPPED') throw error;",
    '});',
    "for (const signal of ['SIGINT', 'SIGTERM'])",
    `  process.once(signal, () => void consuming.stop().then(() => ${close}).then(() => process.exit()));`,
  ];
}

/** How the consumer's file makes its client, and closes it. */
interface ConsumerClient {
  readonly imports: {
    readonly before: readonly string[];
    readonly ofConsumer: readonly string[];
    readonly after: readonly string[];
  };
  readonly made: string;
  readonly client: string;
  readonly close: string;
}

function clientIn(project: Project): ConsumerClient {
  const { importNames } = moduleTextFor(project);
  const { database, urlVariable } = project;
  const address = `connectionString: env('${urlVariable}')(), max: 15`;
  if (database.kind === 'pg') {
    const imports = { before: [importNames(['Pool'], 'pg')], ofConsumer: ['clientOf'], after: [] };
    const made = `const pool = new Pool({ ${address} });`;
    return { imports, made, client: 'clientOf(pool)', close: 'pool.end()' };
  }
  const own = importNames(['PrismaClient'], prismaModule(project, database));
  const before = [
    ...(database.client === undefined ? [own] : []),
    ...(database.adapter ? [importNames(['PrismaPg'], '@prisma/adapter-pg')] : []),
  ];
  const after = database.client === undefined ? [] : [own];
  const given = database.adapter ? `{ adapter: new PrismaPg({ ${address} }) }` : '';
  return {
    imports: { before, ofConsumer: [], after },
    made: `const prisma = new PrismaClient(${given});`,
    client: 'prisma',
    close: 'prisma.$disconnect()',
  };
}

function prismaModule(
  { importEnding, language, modules, sources }: Project,
  { client, generates }: { readonly client: string | undefined; readonly generates: string },
): string {
  if (client === undefined) return '@prisma/client';
  const toClient = path.posix.relative(sources, client);
  const relative = toClient.startsWith('.') ? toClient : `./${toClient}`;
  // JavaScript that imports TypeScript names the file as it is.
  if (generates === 'typescript') return relative + (language === 'javascript' ? '.ts' : importEnding);
  return modules === 'esm' ? `${relative}/index.js` : relative;
}
