import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { type PromiseTag, promises } from './test/promises.ts';
import { ResultFile } from './test/support/result-file.ts';

/** Set by `.ci/run`, which counts what passed and failed in this file. */
const resultFile = process.env.VITEST_RESULT_FILE;

/** These start PostgreSQL, Temporal and Kafka once for all files, and find them again on the next run. */
const globalSetup = ['test/support/fixtures/servers.ts'];

/**
 * Files of such a project share processes: their imports are a third of a process of their own. What a file leaves behind in
 * its process would reach the next one, in another order in each run, so a file that replaces something puts it back.
 */
const shared: TestProjectInlineConfiguration['test'] = {
  isolate: false,
  setupFiles: ['test/support/shared-process.ts'],
};

const transports = 'test/transports';

/** Folders with a server that no registry of packages has: it must be installed, or run in Docker. */
const installed: Readonly<Record<string, string>> = {
  rabbitmq: 'rabbitmq-server',
  together: 'rabbitmq-server',
};

/** This file is loaded once for each project, and by runs that want none of these tests. */
function sayOnce(line: string): void {
  const said = process.env['OUTBOX_TESTS_SAID'] ?? '';
  if (said.includes(line) || !process.argv.some((argument) => argument.includes('transports'))) return;
  process.env['OUTBOX_TESTS_SAID'] = said + line;
  console.warn(line);
}

/** Whether the server of a folder can be had here. CI must have all of them; elsewhere a line says what to install. */
function canRun(folder: string): boolean {
  const program = installed[folder];
  if (program === undefined || process.env['CI'] === 'true') return true;
  const places = (process.env['PATH'] ?? '').split(delimiter);
  if (places.some((place) => [program, 'docker'].some((file) => existsSync(join(place, file))))) return true;
  sayOnce(`The tests of ${transports}/${folder} do not run: install ${program}, or Docker.`);
  return false;
}

/**
 * A project per folder of `test/transports`, with the server that its `server.ts` starts, and one for its folder
 * `end-to-end`, which has PostgreSQL, Temporal and Kafka besides.
 */
function transportProjects(): TestProjectInlineConfiguration[] {
  const folders = readdirSync(transports, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && canRun(entry.name),
  );
  return folders.flatMap(({ name }) => {
    const server = join(transports, name, 'server.ts');
    const own = existsSync(server) ? [server] : [];
    const project = (suffix: string, folder: string, setup: string[]): TestProjectInlineConfiguration => ({
      extends: true,
      test: {
        ...shared,
        name: `transports-${name}${suffix}`,
        include: [`${folder}/*.test.ts`],
        globalSetup: setup,
        sequence: { groupOrder: 3 },
      },
    });
    const folder = join(transports, name);
    return [
      project('', folder, own),
      project('-end-to-end', join(folder, 'end-to-end'), [...globalSetup, ...own]),
    ];
  });
}

/** What `deploy/` starts, in containers: those need Linux, root and podman. CI must have them. */
function imageProjects(): TestProjectInlineConfiguration[] {
  const places = (process.env['PATH'] ?? '').split(delimiter);
  const canStart = process.getuid?.() === 0 && places.some((place) => existsSync(join(place, 'podman')));
  if (!canStart && process.env['CI'] !== 'true') return [];
  return [
    {
      extends: true,
      test: {
        name: 'package-image',
        include: ['test/package/image/*.test.ts'],
        globalSetup: [...globalSetup, 'test/package/pack.ts'],
        sequence: { groupOrder: 2 },
      },
    },
  ];
}

// Tests read tables as a person does, whether or not vitest itself runs in a terminal.
process.env['COLUMNS'] = '80';
// Brokers that live for seconds: the compiler that takes its time never pays.
process.env['KAFKA_JVM_PERFORMANCE_OPTS'] ??= '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC';

export default defineConfig({
  test: {
    pool: 'forks',
    // Tests wait for servers more than they compute: with as many as this two processors have work.
    maxWorkers: 4,
    // What takes seconds takes ten times that on a busy machine. These end only what hangs; waits have limits of their own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    tags: [
      {
        name: 'apart',
        description:
          'Has servers of its own, searches or loads the machine for half a minute, compiles, or is about tools for development.',
      },
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- entries have strings as keys, whatever their object has
      ...Object.entries(promises).map(([name, description]) => ({ name: name as PromiseTag, description })),
    ],
    // A test that passes only sometimes is red until it is understood; CI runs its file once more, alone, and lists it.
    retry: 0,
    allowOnly: false,
    reporters:
      resultFile === undefined ? ['default'] : ['default', new ResultFile({ outputFile: resultFile })],
    // Set by `npm run test:mutations -- --cover`, which notes what each test file executes.
    setupFiles:
      process.env['OUTBOX_EXECUTED'] === undefined ? [] : ['test/mutations/random/note-executed.ts'],
    coverage: {
      provider: 'v8',
      include: ['src/**', 'activities/**', 'workflows/**'],
      exclude: ['**/generated/**'],
    },
    projects: [
      // They run before the others, because a process that meanwhile ran one of those is not used again.
      {
        extends: true,
        test: {
          ...shared,
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/support/shared-process.ts', 'test/support/no-warnings.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Promises of the compiler: a call that must not compile is a test that fails when it does.
        extends: true,
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            checker: 'tsc',
            tsconfig: './test/types/tsconfig.json',
            include: ['test/types/**/*.test-d.ts'],
            // Errors elsewhere are the gate `types`.
            ignoreSourceErrors: true,
          },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          globalSetup,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: 'integration',
          include: ['test/{integration,invariants,replay}/**/*.test.ts'],
          globalSetup,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // What is published, as others install it: in projects of their own, from the packed tarball.
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/*.test.ts'],
          globalSetup: [...globalSetup, 'test/package/pack.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      ...imageProjects(),
      {
        // Whole programs on the packed product, one after the other, by the commands of their own README.
        extends: true,
        test: {
          name: 'examples',
          include: ['test/examples/*.test.ts'],
          globalSetup: [...globalSetup, 'test/examples/installed.ts'],
          sequence: { groupOrder: 2 },
        },
      },
      {
        // What statements cost in large tables, in pages: a busy machine makes it slow, not red.
        extends: true,
        test: {
          name: 'scale',
          include: ['test/scale/**/*.test.ts'],
          globalSetup,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // Apart from the others, because they stop servers of their own, load the machine and take minutes.
        extends: true,
        // More of them at a time would take the processors from each other's load.
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      ...transportProjects(),
    ],
  },
});
