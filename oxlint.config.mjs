import { importDirections } from './tools/lint/import-directions.mjs';

/** Limits that a reader feels; comments and blank lines are free. */
const size = (max) => ['error', { max, skipBlankLines: true, skipComments: true }];

export default {
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'promise', 'node'],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  env: { node: true, es2024: true },
  ignorePatterns: [
    'dist',
    'coverage',
    '**/generated',
    'etc/api',
    'test/package/projects',
    'examples',
    'bench/peers',
  ],
  rules: {
    'eslint/complexity': ['error', { max: 20 }],
    'eslint/default-case-last': 'error',
    'eslint/eqeqeq': ['error', 'always'],
    'eslint/max-depth': ['error', 4],
    'eslint/max-lines': size(300),
    'eslint/max-lines-per-function': size(60),
    // Order is what this library sells: most loops that await do so one after the other on purpose.
    'eslint/no-await-in-loop': 'off',
    'eslint/no-else-return': 'error',
    'eslint/no-eval': 'error',
    'eslint/no-new-func': 'error',
    'eslint/no-implicit-coercion': 'error',
    'eslint/no-nested-ternary': 'error',
    'eslint/no-param-reassign': 'error',
    'eslint/no-var': 'error',
    'eslint/no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx', 'hack'] }],
    'eslint/object-shorthand': 'error',
    'eslint/prefer-const': 'error',
    'eslint/prefer-template': 'error',
    'eslint/radix': 'error',
    'import/first': 'error',
    // pg and kafkajs are CommonJS, whose default export is the documented way in.
    'import/no-named-as-default-member': 'off',
    'import/no-commonjs': 'error',
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/no-duplicates': 'error',
    'import/no-mutable-exports': 'error',
    // A copy per row is what immutable code does; where it is hot, a benchmark says so.
    'oxc/no-map-spread': 'off',
    'typescript/array-type': ['error', { default: 'array' }],
    'typescript/ban-ts-comment': ['error', { 'ts-expect-error': 'allow-with-description' }],
    // The compiler checks it better: noImplicitReturns knows an exhaustive switch.
    'typescript/consistent-return': 'off',
    'typescript/consistent-type-definitions': ['error', 'interface'],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-deprecated': 'error',
    'typescript/no-dynamic-delete': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-import-type-side-effects': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-namespace': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-require-imports': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    'typescript/only-throw-error': ['error', { allowThrowingUnknown: true }],
    'typescript/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
    'typescript/prefer-readonly': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    // A small function may stand beside its only use.
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/error-message': 'error',
    'unicorn/filename-case': ['error', { case: 'kebabCase' }],
    'unicorn/no-abusive-eslint-disable': 'error',
    'unicorn/no-array-for-each': 'error',
    'unicorn/no-process-exit': 'error',
    'unicorn/prefer-at': 'error',
    'unicorn/prefer-node-protocol': 'error',
    'unicorn/prefer-string-replace-all': 'error',
  },
  overrides: [
    ...importDirections,
    {
      files: ['bin/*.ts', 'dev/**/*.ts', 'src/**/*.ts', 'workflows/**/*.ts', 'activities/**/*.ts'],
      rules: { 'eslint/no-console': 'error' },
    },
    {
      // What is thrown may have no text, so that reading it throws: `reasonOf` reads anything.
      files: ['bin/*.ts', 'src/**/*.ts', 'workflows/**/*.ts', 'activities/**/*.ts'],
      rules: { 'typescript/no-base-to-string': ['error', { checkUnknown: true }] },
    },
    {
      // The shape of a row, and of a file that the same code wrote, is known where it is read.
      files: ['src/store/**/*.ts', 'dev/servers/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
      rules: { 'typescript/no-unsafe-type-assertion': 'off' },
    },
    {
      files: ['test/**/*.ts'],
      plugins: ['vitest'],
      rules: {
        // A test file is read test by test, and one test may need its whole story.
        'eslint/max-lines-per-function': 'off',
        'typescript/no-dynamic-delete': 'off',
        // Matchers such as expect.any() are typed as any.
        'typescript/no-unsafe-assignment': 'off',
        // Expectations also live in functions of test/support, which the rule cannot see.
        'vitest/expect-expect': 'off',
        // A property holds for many inputs, and says for each kind of them what is expected.
        'vitest/no-conditional-expect': 'off',
        'vitest/no-disabled-tests': 'error',
        'vitest/no-focused-tests': 'error',
        'vitest/no-identical-title': 'error',
        'vitest/require-mock-type-parameters': 'off',
        'vitest/valid-expect': ['error', { maxArgs: 2 }],
        // Contract suites bring their titles as data.
        'vitest/valid-title': 'off',
      },
    },
    {
      // A property speaks of each generated case by its kind.
      files: ['test/**/*.property.test.ts'],
      rules: { 'vitest/no-conditional-expect': 'off' },
    },
    {
      // These files are called by tools that read a default export.
      files: ['*.config.ts', '*.config.mjs'],
      rules: { 'import/no-default-export': 'off' },
    },
    {
      // Plain JavaScript has no types to check; these scripts are commands, which print.
      files: ['**/*.mjs'],
      rules: {
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-enum-comparison': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
      },
    },
  ],
};
