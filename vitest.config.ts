import { defineConfig } from 'vitest/config';

/** Set by `.ci/run`, which counts what passed and failed in this file. */
const resultFile = process.env.VITEST_RESULT_FILE;

/** These start PostgreSQL, Temporal and Kafka once for all files, and find them again on the next run. */
const globalSetup = ['test/support/servers.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A test that passes only sometimes is red until it is understood.
    retry: 0,
    allowOnly: false,
    reporters: resultFile === undefined ? ['default'] : ['default', ['json', { outputFile: resultFile }]],
    coverage: {
      provider: 'v8',
      include: ['src/**', 'activities/**', 'workflows/**'],
      exclude: ['**/generated/**'],
    },
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
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
            tsconfig: './tsconfig.json',
            include: ['test/types/**/*.test-d.ts'],
            // Errors elsewhere are the gate `types`.
            ignoreSourceErrors: true,
          },
        },
      },
      { extends: true, test: { name: 'contract', include: ['test/contract/**/*.test.ts'], globalSetup } },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/{integration,invariants,replay}/**/*.test.ts'],
          globalSetup,
        },
      },
      {
        // Apart from the others, because they stop servers of their own, load the machine and take minutes.
        extends: true,
        test: { name: 'faults', include: ['test/faults/**/*.test.ts'], globalSetup },
      },
    ],
  },
});
