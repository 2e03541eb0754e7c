import { type PromiseTag, promises } from '../promises.ts';

/** A file of the repository; or a function of the database, which means its newest definition in prisma/migrations. */
type Place =
  | `${'src' | 'dev' | 'workflows'}/${string}.ts`
  | `deploy/${string}`
  | `prisma/migrations/${string}.sql`
  | `outbox.${string}()`;

/** One small change of the product that is a bug: of a text that is replaced by another one, or left out. */
interface Change {
  /** What to change. An entry that names a function survives a migration that writes the function anew. */
  readonly file: Place;
  /** Stands exactly once in that file or function, in any layout; names in it may have changed since (`anchor.ts`). */
  readonly find: string;
  /** Without it the text is left out. */
  readonly replace?: string;
  /** Part of the titles of the tests to run, for a file that takes seconds; without it all of the file. */
  readonly title?: string;
  /** True when the test runs the built program, so that the change must be built first, which takes seconds. */
  readonly built?: true;
}

/**
 * Bugs by the promise that they break, the test file that must be red while one of them is there, and their names. A name says
 * what is broken; it is unique, in kebab case.
 */
export type Bugs = {
  readonly [Promise in PromiseTag]?: Readonly<
    Record<`test/${string}.test.ts`, Readonly<Record<string, Change>>>
  >;
};

/** A bug of the list, by itself. */
export interface Mutation extends Omit<Change, 'file'> {
  readonly name: string;
  readonly file: string;
  readonly promise: PromiseTag;
  readonly test: string;
  readonly replace: string;
}

/** Each bug by itself, in the order of promises. */
export function mutationsOf(bugs: Bugs): readonly Mutation[] {
  return (Object.keys(promises) as PromiseTag[]).flatMap((promise) =>
    Object.entries(bugs[promise] ?? {}).flatMap(([test, changes]) =>
      Object.entries(changes).map(([name, change]) => ({ name, promise, test, replace: '', ...change })),
    ),
  );
}
