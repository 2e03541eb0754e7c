/**
 * Which folder may import what, and why: the directions of ARCHITECTURE.md as data, made into lint overrides.
 *
 * oxlint replaces the options of a rule where two overrides match one file, so each file gets exactly one list, and
 * a folder with subfolders gets one list per depth (`../core/x.ts` from a subfolder is another folder than from the
 * layer itself). A pattern that allows types comes before the group, because a path that a group allows ends the search.
 */

const environment = 'Only src/config reads the environment; take the value as an argument.';
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
      'kafkajs stays in src/transports/kafka and src/sources/kafka, behind the ports, so that it can be replaced.',
  },
  temporal: {
    regex: '^@temporalio/',
    message:
      'Only src/temporal, workflows and activities know Temporal; elsewhere declare the small port that is needed.',
  },
  process: { regex: '^(?:node:)?process$', message: environment },
  io: {
    regex: '^node:(?:child_process|cluster|dgram|fs|http|http2|https|net|os|tls|worker_threads)(?:/|$)',
    message: 'This folder holds pure rules: nothing in it touches disk, network or processes.',
  },
};

/** True for every file: how a path is written. */
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

/**
 * The layers. `imports` are folders of src (or paths from it), `types` those of which only types may be imported,
 * `uses` the packages of the list above that are allowed. Everything outside the own folder that is not named is
 * refused with `reason`.
 */
export const layers = [
  {
    folder: 'src/core',
    imports: [],
    uses: [],
    reason: 'src/core holds pure rules and imports nothing of the project, so that everything may import it.',
  },
  {
    folder: 'src/store',
    depth: 2,
    imports: ['core/'],
    uses: ['pg', 'io'],
    reason: 'src/store may import src/core only: SQL knows the rules, and nobody above it.',
  },
  {
    folder: 'src/outbox',
    imports: ['core/', 'store/'],
    uses: ['io'],
    reason:
      'src/outbox may import src/store and src/core only: writing a message needs no relay and no broker.',
  },
  {
    folder: 'src/relay',
    imports: ['core/', 'store/'],
    types: ['transports/transport.ts'],
    uses: ['io'],
    reason:
      'src/relay may import src/store, src/core and the types of src/transports/transport.ts: it delivers without Temporal and without knowing a broker.',
  },
  {
    folder: 'src/transports',
    depth: 2,
    imports: ['core/'],
    uses: ['io'],
    homes: { kafka: 'kafkajs', workflow: 'temporal' },
    reason:
      'src/transports may import src/core only: a transport moves bytes and knows neither rows nor lanes.',
  },
  {
    folder: 'src/sources',
    depth: 2,
    imports: ['core/'],
    uses: ['io'],
    homes: { kafka: 'kafkajs' },
    reason:
      'src/sources may import src/core only: a source hands over what arrived and knows neither rows nor handlers.',
  },
  {
    folder: 'src/inbox',
    imports: ['core/', 'store/'],
    types: ['sources/source.ts'],
    uses: ['io'],
    reason:
      'src/inbox may import src/store, src/core and the types of src/sources/source.ts: handling a message needs neither relay nor broker.',
  },
  {
    folder: 'src/operations',
    imports: ['core/', 'store/'],
    uses: ['io'],
    reason: 'src/operations may import src/store and src/core only: rows decide what an operator may do.',
  },
  {
    folder: 'src/temporal',
    imports: ['core/', 'relay/', 'inbox/', '../activities/'],
    types: ['config/', '../workflows/'],
    uses: ['temporal', 'io'],
    reason:
      'src/temporal may import activities, src/relay, src/inbox and src/core, and types of src/config and workflows: it implements ports and composes nothing else.',
  },
  {
    folder: 'src/config',
    imports: [
      'core/',
      'store/',
      'outbox/',
      'relay/',
      'inbox/',
      'transports/',
      'sources/',
      'operations/',
      'temporal/',
    ],
    uses: ['pg', 'process', 'io'],
    reason:
      'src/config composes the parts of the library, but none of its faces: cli, server, local, demo and testing stand above it.',
  },
  {
    folder: 'src/local',
    imports: ['core/'],
    uses: ['pg', 'process', 'io'],
    reason:
      'src/local may import src/core only: it starts servers for others and works before anything is configured.',
  },
  {
    folder: 'src/server',
    imports: ['core/', 'config/', 'operations/'],
    uses: ['io'],
    reason:
      'src/server may import src/config, src/operations and src/core: a face shows what operations answer and decides nothing.',
  },
  {
    folder: 'src/cli',
    imports: ['core/', 'config/', 'operations/', 'local/', 'server/', 'demo/'],
    uses: ['process', 'io'],
    reason:
      'src/cli may import src/config, src/operations, src/local, src/server, src/demo and src/core: a face shows what operations answer and decides nothing.',
  },
  {
    folder: 'src/demo',
    imports: ['*.ts', 'core/', 'config/', 'operations/', 'local/'],
    uses: ['pg', 'prisma', 'process', 'io'],
    reason:
      'src/demo is a user of the library: it imports entry points, src/config, src/operations, src/local and src/core.',
  },
  {
    folder: 'src/testing',
    imports: ['core/', 'store/', 'outbox/', 'transports/'],
    uses: ['io'],
    reason:
      'src/testing may import src/core, src/store, src/outbox and src/transports: the tests of users need no relay.',
  },
  {
    folder: 'activities',
    imports: ['core/', 'store/', 'relay/', 'inbox/', 'transports/', 'sources/'].map((path) => `src/${path}`),
    uses: ['temporal'],
    reason:
      'Activities may import src/relay, src/inbox, src/transports, src/sources, src/store and src/core: they give functions a heartbeat and decide nothing.',
  },
];

/** The lint override for the files of one layer at one depth, or of one subfolder that is the home of a package. */
function layerOverride(layer, { depth, files, uses }) {
  const up = '../'.repeat(depth);
  const types = layer.types ?? [];
  const folders = [...layer.imports, ...types].map((path) => (path.endsWith('/') ? `${path}**` : path));
  const refused = Object.entries(packages).filter(([name]) => !uses.includes(name));
  const patterns = [
    ...spelling,
    ...refused.map(([, pattern]) => pattern),
    ...types.map((path) => ({ regex: exactly(up + path), allowTypeImports: true, message: layer.reason })),
    { group: [`${up}**`, ...folders.map((path) => `!${up}${path}`)], message: layer.reason },
  ];
  return { files: [files], rules: { 'typescript/no-restricted-imports': ['error', { patterns }] } };
}

function exactly(path) {
  return `^${path.replaceAll('.', '\\.')}${path.endsWith('/') ? '' : '$'}`;
}

function layerOverrides(layer) {
  const overrides = [];
  for (let depth = 1; depth <= (layer.depth ?? 1); depth += 1) {
    const files = `${layer.folder}/${'*/'.repeat(depth - 1)}*.ts`;
    overrides.push(layerOverride(layer, { depth, files, uses: layer.uses }));
  }
  for (const [folder, name] of Object.entries(layer.homes ?? {})) {
    const files = `${layer.folder}/${folder}/*.ts`;
    overrides.push(layerOverride(layer, { depth: 2, files, uses: [...layer.uses, name] }));
  }
  return overrides;
}

/** `src/index.ts` and its like: names of src, offered to users. */
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
  regex: '^\\./(?:cli|demo|local|server)/',
  message:
    'An entry point offers the library, not its faces: cli, server, local and demo are reached by their commands.',
};
const testing = {
  regex: '^\\./testing(?:/|\\.ts$)',
  message: 'src/testing is for tests: only the entry point src/testing.ts offers it.',
};

/** Names that are global in Node, refused also by way of `globalThis`. */
function refusedGlobals(messages) {
  const named = Object.entries(messages);
  return {
    'eslint/no-restricted-globals': ['error', ...named.map(([name, message]) => ({ name, message }))],
    'eslint/no-restricted-properties': [
      'error',
      ...named.map(([property, message]) => ({ object: 'globalThis', property, message })),
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

const environmentOverride = {
  files: ['src/**/*.ts', 'activities/*.ts'],
  excludeFiles: ['src/config/**', 'src/cli/**', 'src/local/**', 'src/demo/**'],
  rules: refusedGlobals({ process: environment }),
};

export const importDirections = [
  ...layers.flatMap((layer) => layerOverrides(layer)),
  entryOverride('src/*.ts', [faces, testing]),
  entryOverride('src/testing.ts', [faces]),
  environmentOverride,
  workflowOverride,
];
