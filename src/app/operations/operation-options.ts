import { OutboxError } from '../../core/errors.ts';
import { assertOptions, unknownOption } from '../../core/option-names.ts';
import type { Database } from '../../store/database/database.ts';

/** Runs something on the migrated database; `check` comes first, because it needs none. */
export type OnDatabase = <Result>(
  work: (database: Database) => Promise<Result>,
  check?: () => void,
) => Promise<Result>;

/** The options that an operation was called with. */
type Given = object | undefined;

const commonNames = ['actor', 'reason', 'dryRun'];
const bulkNames = [...commonNames, 'ratePerSecond', 'expect'];
const dueNames = ['after', 'at'];
const pageNames = ['limit', 'after'];
const waitNames = [...commonNames, 'timeout'];
const changeNames = ['actor', 'reason', 'timeout', 'signal'];
const verifyNames = ['since', 'grace', 'tolerance', 'maxTransaction', 'maxDuplicates', 'effects'];
const databaseNames = ['url', 'ssl', 'password', 'connections'];

/** The options of every operation, by its name: a misspelt one would be ignored, which is worst for `dryRun`. */
const operationNames = {
  cancel: commonNames,
  retry: commonNames,
  discard: commonNames,
  resume: commonNames,
  abort: commonNames,
  'pause of a bulk operation': commonNames,
  reschedule: [...commonNames, ...dueNames],
  withdraw: waitNames,
  pause: waitNames,
  'a bulk operation': bulkNames,
  changeLanes: changeNames,
  changePartitions: [...changeNames, 'groups'],
  adopt: ['actor', 'newInstallation'],
  list: pageNames,
} as const;

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertOperation(operation: keyof typeof operationNames, options: Given = {}): void {
  assertOptions(operation, options, operationNames[operation]);
}

/** A target of messages: their ids, or a topic and a ref. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertTarget(target: object): void {
  assertOneOf('a target', target, [['ids'], ['topic', 'ref']]);
}

/** A target of kept messages. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertKept(target: object): void {
  assertOneOf('a target', target, [
    ['group', 'ids'],
    ['group', 'id'],
  ]);
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertScope(scope: object): void {
  assertOneOf('a scope', scope, [['topic'], ['transport']]);
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertTask(task: object): void {
  assertOneOf('a task', task, [
    ['action', ...dueNames],
    ['action', 'shift'],
  ]);
}

/** A task for kept messages. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertKeptTask(task: object): void {
  assertOptions('a task', task, ['action']);
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertVerify(
  options: { readonly effects?: { readonly database?: object } | undefined } = {},
): void {
  assertOptions('verify', options, verifyNames);
  if (options.effects === undefined) return;
  assertOptions('verify.effects', options.effects, ['query', 'group', 'database']);
  assertOptions('verify.effects.database', options.effects.database ?? {}, databaseNames);
}

/** Some things can be named in several ways; two at once would be ambiguous. */
function assertOneOf(what: string, given: object, ways: readonly (readonly string[])[]): void {
  if (ways.some((names) => unknownOption(given, names) === undefined)) return;
  assertOptions(what, given, ways.flat());
  const said = ways.map((names) => names.map((name) => `"${name}"`).join(' and ')).join(', or by ');
  throw new OutboxError('OUTBOX_OPTION_INVALID', `Name ${what} by ${said}, not by both.`, {
    details: { option: Object.keys(given).join(', ') },
  });
}
