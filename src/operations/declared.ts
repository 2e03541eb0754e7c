import type { Role } from '../core/authentication.ts';
import { isObject } from '../core/options/collections.ts';
import type { Database } from '../store/database/database.ts';
import type { TopicCounts } from '../store/lane/lanes-change.ts';
import type { BrokerView } from './delivery/partitions.ts';
import { asSentence } from './descriptions.ts';
import type { CheckPayload } from './edit-content.ts';
import type { Rewindable } from './inbox/rewind.ts';
import type { Inputs } from './inputs/values.ts';
import { assertGiven, invalid, type OnDatabase } from './operation-options.ts';
import type { OtherGroup } from './timeline/group-sides.ts';
import type { VerifiedLog } from './verify/verify.ts';

/** What operations stand on: the database, and what the configuration says of places outside of it. */
export interface Ground {
  /** Migrated. */
  readonly database: Database;
  /** Names of the rules by which relays judge figures. */
  readonly alertRules: readonly string[];
  /** By the schemas of the configuration's topics. */
  readonly checkPayload: CheckPayload;
  /** Groups whose inbox is in another database. */
  readonly groups: readonly OtherGroup[];
  /** The logs of brokers that can be read. */
  readonly logs: () => readonly VerifiedLog[];
  /** What the broker of a topic knows. Throws `OUTBOX_TRANSPORT_UNKNOWN`. */
  readonly brokerOf: (topic: TopicCounts) => BrokerView;
  /** The brokers of these topics, or of all, that can set a group back. Throws `OUTBOX_TOPIC_UNKNOWN`. */
  readonly rewindable: (topics: readonly string[] | undefined) => Rewindable;
}

/**
 * An operation, declared once: its function, its request and its command are made of it.
 *
 * `Given` are the arguments of the function: the values of `of`, in their order, then the options if there are any. `On` is what it
 * stands on.
 */
export interface DeclaredOperation<Given extends readonly unknown[], Answer, On = Ground> {
  /** What it does, as the help says it. */
  readonly text: string;
  /** What the documents of the HTTP API add, in sentences. */
  readonly overHttp?: string;
  /** The least role that may ask for it. */
  readonly role: Role;
  /** True: only for callers that are not limited to topics. */
  readonly allTopics?: true;
  /** True: only for callers that may read payloads. */
  readonly payloads?: true;
  /** What it is of: arguments of function and command, and parts of the path of its request. */
  readonly of?: Inputs;
  /** The options of a change but for its actor, who is proved where it can be; missing: it only reads. */
  readonly options?: Inputs;
  /** The options of what only reads. */
  readonly query?: Inputs;
  /** Names of options that are no part of a request, such as a signal. */
  readonly otherOptions?: readonly string[];
  /** Names that might be taken for options, and why they are none. */
  readonly refusedOptions?: Readonly<Record<string, string>>;
  /** Refuses arguments without the database, beside names of options that there are not. */
  readonly check?: (...given: Given) => void;
  readonly run: (ground: On, ...given: Given) => Promise<Answer>;
}

/** The declaration of each function of an interface. */
export type DeclaredTable<Functions, On = Ground> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (...given: infer Given) => Promise<infer Answer>
    ? DeclaredOperation<Given, Answer, On>
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
 * @param owner is named in errors, as in `schedules.pause`; none for those that have no group
 * @param ground all but the database
 */
export function functionsOf<Functions, On extends Pick<Ground, 'database'> = Ground>(
  on: OnDatabase,
  owner: string | undefined,
  table: DeclaredTable<Functions, On>,
  ground: Omit<On, 'database'>,
): Functions {
  const declared: Readonly<Record<string, DeclaredOperation<readonly unknown[], unknown, On>>> = { ...table };
  const functions = Object.entries(declared).map(([name, operation]) => [
    name,
    async (...given: readonly unknown[]) => {
      assertOptionsOf(operation, owner === undefined ? name : `${owner}.${name}`, given);
      operation.check?.(...given);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ground and the database are all of it
      return on((database) => operation.run({ ...ground, database } as On, ...given));
    },
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a function for each, with the types of its declaration
  return Object.fromEntries(functions) as Functions;
}

function assertOptionsOf(
  {
    of = {},
    options,
    otherOptions = [],
    query,
    refusedOptions = {},
  }: Pick<DeclaredOperation<never, unknown>, 'of' | 'options' | 'otherOptions' | 'query' | 'refusedOptions'>,
  owner: string,
  given: readonly unknown[],
): void {
  const known = options === undefined ? Object.keys(query ?? {}) : ['actor', ...Object.keys(options)];
  const asked = given[Object.keys(of).length];
  for (const [name, why] of Object.entries(refusedOptions))
    if (isObject(asked) && name in asked) throw invalid(name, why);
  if (known.length > 0) assertGiven(owner, [...known, ...otherOptions], asked);
}
