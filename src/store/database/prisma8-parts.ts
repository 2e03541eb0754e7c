/** What is used of a transaction of Prisma 8. The type is structural, so that the library needs no package of Prisma. */
export interface Prisma8Queryable {
  /** Runs a plan and returns its rows. */
  query(plan: never): PromiseLike<readonly unknown[]>;
}

/** What is used of a client of Prisma 8: `postgres(…)` of `@prisma/orm-postgres`. */
export interface Prisma8<Tx extends Prisma8Queryable> {
  /** Makes plans of SQL. */
  readonly raw: {
    sql(text: TemplateStringsArray): { affectedCount(): { build(): object } };
  };
  /** Runs plans outside of transactions. */
  runtime(): Prisma8Queryable;
  /** Does work in a transaction. */
  transaction<Result>(work: (tx: Tx) => PromiseLike<Result>): Promise<Result>;
}

/** Whether it is a client of Prisma 8 as it is made. */
export function isPrisma8(given: unknown): given is Prisma8<Prisma8Queryable> {
  return has(given, 'transaction', 'runtime') && has(Reflect.get(given, 'raw'), 'sql');
}

/** Whether it is a transaction that such a client has opened itself. */
export function isPrisma8Transaction(given: unknown): boolean {
  return has(given, 'query', 'execute') && typeof Reflect.get(given, 'invalidated') === 'boolean';
}

function has(given: unknown, ...methods: readonly string[]): given is object {
  if (typeof given !== 'object' && typeof given !== 'function') return false;
  return given !== null && methods.every((method) => typeof Reflect.get(given, method) === 'function');
}
