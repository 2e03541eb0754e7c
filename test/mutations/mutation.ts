import type { PromiseTag } from '../promises.ts';

/** A bug, planted by one small change of the product, and the test that must be red while it is there. */
export interface Mutation {
  /** Says what is broken; unique, in kebab case. */
  readonly name: string;
  /** Which promise it breaks. */
  readonly promise: PromiseTag;
  /**
   * Path of the file to change; or a function of the database, as `outbox.claim()`, which means its newest definition
   * in prisma/migrations, so that an entry survives a migration that writes the function anew.
   */
  readonly file: string;
  /** Stands exactly once in that file or function, in any layout; names in it may have changed since (`anchor.ts`). */
  readonly find: string;
  readonly replace: string;
  /** Path of the test file that must be red. */
  readonly test: string;
  /** Part of the titles of the tests to run; without it all of the file. */
  readonly title?: string;
  /** True when the test runs the built program, so that the change must be built first, which takes seconds. */
  readonly built?: true;
}
