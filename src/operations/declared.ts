import type { Role } from '../core/authentication.ts';
import type { Database } from '../store/database/database.ts';
import { asSentence } from './descriptions.ts';
import type { Inputs } from './inputs/values.ts';
import { assertGiven, type OnDatabase } from './operation-options.ts';

/** What operations stand on. */
export interface Ground {
  /** Migrated. */
  readonly database: Database;
  /** Names of the rules by which relays judge figures. */
  readonly alertRules: readonly string[];
}

/**
 * An operation, declared once: its function, its request and its command are made of it.
 *
 * `Given` are the arguments of the function: the values of `of`, in their order, then the options if there are any.
 */
export interface DeclaredOperation<Given extends readonly unknown[], Answer> {
  /** What it does, as the help says it. */
  readonly text: string;
  /** What the documents of the HTTP API add, in sentences. */
  readonly overHttp?: string;
  /** The least role that may ask for it. */
  readonly role: Role;
  /** True: only for callers that are not limited to topics. */
  readonly allTopics?: true;
  /** What it is of: arguments of function and command, and parts of the path of its request. */
  readonly of?: Inputs;
  /** The options of a change but for its actor, who is proved where it can be; missing: it only reads. */
  readonly options?: Inputs;
  /** Refuses arguments without the database, beside names of options that there are not. */
  readonly check?: (...given: Given) => void;
  readonly run: (ground: Ground, ...given: Given) => Promise<Answer>;
}

/** The declaration of each function of an interface. */
export type DeclaredTable<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (...given: infer Given) => Promise<infer Answer>
    ? DeclaredOperation<Given, Answer>
    : never;
};

/** What an operation does, in sentences. */
export function summaryOf({
  overHttp,
  text,
}: Pick<DeclaredOperation<never, unknown>, 'overHttp' | 'text'>): string {
  return overHttp === undefined ? asSentence(text) : `${asSentence(text)} ${overHttp}`;
}

/**
 * The functions of a table, which run on the migrated database. They refuse options that there are not with `OUTBOX_OPTION_INVALID`.
 *
 * @param owner is named in errors, as in `schedules.pause`
 * @param ground all but the database
 */
export function functionsOf<Functions>(
  on: OnDatabase,
  owner: string,
  table: DeclaredTable<Functions>,
  ground: Omit<Ground, 'database'>,
): Functions {
  const declared: Readonly<Record<string, DeclaredOperation<readonly unknown[], unknown>>> = { ...table };
  const functions = Object.entries(declared).map(([name, { check, of = {}, options, run }]) => [
    name,
    async (...given: readonly unknown[]) => {
      const places = Object.keys(of).length;
      if (options !== undefined)
        assertGiven(`${owner}.${name}`, ['actor', ...Object.keys(options)], given[places]);
      check?.(...given);
      return on((database) => run({ ...ground, database }, ...given));
    },
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a function for each, with the types of its declaration
  return Object.fromEntries(functions) as Functions;
}
