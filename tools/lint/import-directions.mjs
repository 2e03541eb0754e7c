/**
 * Which folder may import what, and why: the directions of ARCHITECTURE.md as data, made into lint overrides.
 *
 * oxlint replaces the options of a rule where two overrides match one file, so each file gets exactly one list, and
 * a folder with subfolders gets one list per depth (`../core/x.ts` from a subfolder is another folder than from the
 * layer itself). A pattern that allows types comes before the group, because a path that a group allows ends the
 * search.
 */

import { posix } from 'node:path';
import { layers } from './layers.mjs';

const environment = 'Only src/config reads the environment; take the value as an argument.';
const longTimers =
  'Node fires a timer of more than 24 days at once: use startTimer of src/core/timer.ts, or rest of src/core/rest.ts.';
const deterministic = 'Workflows are deterministic: move it to an activity.';

/** Packages that have one home. A layer lists by name those it may use. */
const packages = {
  pg: {
    regex: '^pg(?:/|$)',
    message: 'Only src/store speaks to PostgreSQL, so that every statement is found in one folder.',
  },
  prisma: {
    regex: '^@?prisma(?:/|$)',
    message:
      'The library knows a transaction by its shape, so that it works with every client; only the demo uses Prisma.',
  },
  kafkajs: {
    regex: '^kafkajs(?:/|$)',
    message:
      'kafkajs stays in src/brokers/kafka (and dev/servers, to see whether a broker is up), so that it can be replaced.',
  },
  platformatic: {
    regex: '^@platformatic/',
    message:
      '@platformatic/kafka stays in src/brokers/kafka, which sends batches over its connections, so that it can be replaced.',
  },
  amqplib: {
    regex: '^amqplib(?:/|$)',
    message: 'amqplib stays in src/brokers/rabbitmq, so that only those who use RabbitMQ must install it.',
  },
  rocketmq: {
    regex: '^(?:rocketmq-client-nodejs|@grpc/grpc-js|google-protobuf)(?:/|$)',
    message: 'The client of RocketMQ, and gRPC, stay in src/brokers/rocketmq, so that they can be replaced.',
  },
  redis: {
    regex: '^@redis/',
    message:
      'The client of Redis stays in src/brokers/redis, so that only those who use Redis must install it.',
  },
  undici: {
    regex: '^undici(?:/|$)',
    message: 'undici stays in src/brokers/http, so that only those who send over HTTP must install it.',
  },
  webhooks: {
    regex: '^standardwebhooks(?:/|$)',
    message: 'standardwebhooks stays in src/brokers/http, where messages are signed and verified alike.',
  },
  opentelemetry: {
    regex: '^@opentelemetry/',
    message:
      'Only src/telemetry knows OpenTelemetry, and loads it where it is installed, so that nobody must install it.',
  },
  hono: {
    regex: '^(?:@hono/|hono(?:/|$)|openid-client(?:/|$))',
    message:
      'Hono and the client of OpenID Connect stay in src/api, so that only its users must install them.',
  },
  zod: {
    regex: '^zod(?:/|$)',
    message: 'zod stays in the demo: the library accepts the schemas of any package.',
  },
  nodemailer: {
    regex: '^nodemailer(?:/|$)',
    message: 'nodemailer stays in src/watch, so that only those who are told by e-mail must install it.',
  },
  temporal: {
    regex: '^@temporalio/',
    message:
      'Only src/temporal, src/brokers/workflow, workflows and activities know Temporal; elsewhere declare the small port that is needed.',
  },
  process: { regex: '^(?:node:)?process$', message: environment },
  io: {
    regex: '^node:(?:child_process|cluster|dgram|fs|http|http2|https|net|os|tls|worker_threads)(?:/|$)',
    message: 'This folder holds pure rules: nothing in it touches disk, network or processes.',
  },
};

/** Rules for all files on how a path is written. */
const spelling = [
  {
    regex: '^temporal-outbox(?:/|$)',
    message: "Import the source file: the package's own name resolves to the last build, which may be old.",
  },
  {
    regex: '[^./]/\\.\\.?/',
    message: 'Write the shortest path: a detour hides the folder that is imported.',
  },
];

/** Rules for all files of the library on how it waits. */
const waits = [{ regex: '^(?:node:)?timers(?:/|$)', message: longTimers }];

/** The lint override for the files of one layer at one depth, or of one subfolder that is the home of a package. */
function layerOverride(layer, { depth, files, uses, imports = [], refuses = [] }) {
  const outside = `${'../'.repeat(depth)}**`;
  const types = (layer.types ?? []).map((path) => pathTo(path, layer.folder, depth));
  const allowed = [...layer.imports, ...imports].map((path) => pathTo(path, layer.folder, depth));
  const folders = [...allowed, ...types].map((path) => (path.endsWith('/') ? `${path}**` : path));
  const refused = Object.entries(packages).filter(([name]) => !uses.includes(name));
  const patterns = [
    ...spelling,
    ...(layer.folder.startsWith('src/') ? waits : []),
    ...refused.map(([, pattern]) => pattern),
    ...types.map((path) => ({ regex: exactly(path), allowTypeImports: true, message: layer.reason })),
    { group: [outside, ...folders.map((path) => `!${path}`)], message: layer.reason },
    ...refuses.map((folder) => ({ regex: `^\\.\\./${folder}/`, message: together(folder, layer) })),
    ...(layer.flat ? [{ regex: '^\\./.*/', message: layer.reason }] : []),
  ];
  return { files: [files], rules: { 'typescript/no-restricted-imports': ['error', { patterns }] } };
}

/** How a file at this depth of a layer writes a path of src, or for `activities` of the project. */
function pathTo(path, folder, depth) {
  const root = folder.startsWith('src/') ? 'src' : '.';
  const from = posix.join(folder, ...Array.from({ length: depth - 1 }, () => 'inner'));
  return posix.relative(from, posix.join(root, path)) + (path.endsWith('/') ? '/' : '');
}

function exactly(path) {
  return `^${path.replaceAll('.', '\\.')}${path.endsWith('/') ? '' : '$'}`;
}

function together(other, { folder }) {
  return `What this folder shares with ${folder}/${other} belongs to neither: give it a folder of its own.`;
}

function layerOverrides(layer) {
  const overrides = [];
  for (let depth = 1; depth <= (layer.depth ?? 1); depth += 1) {
    const files = `${layer.folder}/${'*/'.repeat(depth - 1)}*.ts`;
    overrides.push(layerOverride(layer, { depth, files, uses: layer.uses }));
  }
  for (const folder of layer.apart ?? []) {
    const refuses = layer.apart.filter((other) => other !== folder);
    const files = `${layer.folder}/${folder}/*.ts`;
    overrides.push(layerOverride(layer, { depth: 2, files, uses: layer.uses, refuses }));
  }
  for (const [folder, { uses, imports }] of Object.entries(layer.homes ?? {})) {
    const files = `${layer.folder}/${folder}/*.ts`;
    overrides.push(layerOverride(layer, { depth: 2, files, uses: [...layer.uses, ...uses], imports }));
  }
  return overrides;
}

/** Entry points such as `src/index.ts`: they export names of src to users. */
function entryOverride(files, refused) {
  const reason = 'An entry point re-exports names of src and nothing else.';
  const patterns = [
    ...spelling,
    { regex: '^[^.]', message: reason },
    { regex: '^\\.\\./', message: reason },
    ...refused,
  ];
  return { files: [files], rules: { 'typescript/no-restricted-imports': ['error', { patterns }] } };
}

const faces = {
  regex: '^\\./cli/',
  message: 'An entry point offers the library, not its faces: src/cli is reached by its commands.',
};
const testing = {
  regex: '^\\./testing(?:/|\\.ts$)',
  message: 'src/testing is for tests: only the entry point src/testing.ts offers it.',
};

/** Anybody may have written the text of a time, and JavaScript takes "60" and "never-1" for one. */
const laxTime = {
  object: 'Date',
  property: 'parse',
  message: 'Texts of times are read by writtenTime and statedTime of src/core, strictly.',
};

/** What JavaScript says of a text that is no JSON has no code, and quotes the text. */
const rawJson = {
  object: 'JSON',
  property: 'parse',
  message:
    'A text that somebody else has written is read by readJson of src/core. What our own code or database wrote may be parsed: say so.',
};

/**
 * Node globals, which are also rejected when accessed through `globalThis`.
 *
 * @param properties other refused properties
 */
function refusedGlobals(messages, ...properties) {
  const named = Object.entries(messages);
  return {
    'eslint/no-restricted-globals': ['error', ...named.map(([name, message]) => ({ name, message }))],
    'eslint/no-restricted-properties': [
      'error',
      ...named.map(([property, message]) => ({ object: 'globalThis', property, message })),
      ...properties,
    ],
  };
}

const workflowOverride = {
  files: ['workflows/*.ts'],
  rules: {
    ...refusedGlobals({
      Buffer: deterministic,
      crypto: deterministic,
      Date: 'Workflows count from `dueInMs` of the database clock, never from the time of a machine.',
      fetch: deterministic,
      performance: deterministic,
      process: deterministic,
      setImmediate: deterministic,
      setInterval: deterministic,
      WebSocket: deterministic,
    }),
    'typescript/no-restricted-imports': [
      'error',
      {
        patterns: [
          ...spelling,
          {
            group: ['**', '!./**', '!@temporalio/workflow'],
            allowTypeImports: true,
            message:
              'Workflows are deterministic: they import values from @temporalio/workflow only and types from anywhere; I/O belongs to an activity.',
          },
        ],
      },
    ],
  },
};

const readers = ['src/config/**', 'src/cli/**'];
/** They need the process itself: its id, its standard output, or to end it. */
const processUsers = ['src/app/**', 'src/brokers/print/**', 'src/testing/**'];

const environmentOverrides = [
  {
    files: ['src/**/*.ts', 'activities/*.ts'],
    excludeFiles: [...readers, ...processUsers],
    rules: refusedGlobals({ process: environment, setTimeout: longTimers }, laxTime, rawJson),
  },
  {
    files: processUsers.map((folder) => `${folder}/*.ts`),
    rules: refusedGlobals(
      { setTimeout: longTimers },
      { object: 'process', property: 'env', message: environment },
      laxTime,
      rawJson,
    ),
  },
  {
    files: readers.map((folder) => `${folder}/*.ts`),
    rules: refusedGlobals({ setTimeout: longTimers }, laxTime, rawJson),
  },
];

export const importDirections = [
  ...layers.flatMap((layer) => layerOverrides(layer)),
  entryOverride('src/*.ts', [faces, testing]),
  entryOverride('src/testing.ts', [faces]),
  ...environmentOverrides,
  workflowOverride,
];
