import { OutboxError } from '../core/errors.ts';
import { type SparseTable, sparse } from '../core/options/collections.ts';
import { judged, type Problem, type Reader } from '../core/options/reader.ts';
import type { Inputs } from '../operations/inputs/values.ts';

/** For operations without any. */
export const noInputs = {} satisfies Inputs;

/** How many problems an error lists. */
const mostProblems = 20;

/**
 * What a part of a request gives, without what is not given.
 *
 * @param kind of what the part consists
 * @throws OutboxError `OUTBOX_REQUEST_INVALID`
 */
export function readInputs<Of extends Inputs>(
  kind: string,
  inputs: Of | undefined,
  given: unknown,
): SparseTable<Of> {
  const table: Inputs = inputs ?? {};
  assertKnown(kind, Object.keys(table), given);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without inputs the type has no names
  const reader = sparse(table) as Reader<unknown> as Reader<SparseTable<Of>>;
  return judged(invalidRequest, () => reader.read(given, { path: '', refuse: invalidRequest }));
}

/** The same inputs where each is given as a text, as in a query. */
export function ofTexts<Of extends Inputs>(inputs: Of): Of {
  const reading = Object.entries(inputs).map(([name, reader]) => [name, ofText(reader)]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a reader of the same value for each
  return Object.fromEntries(reading) as Of;
}

function ofText<Value>(reader: Reader<Value>): Reader<Value> {
  const { ofText: valueOf } = reader;
  if (valueOf === undefined) return reader;
  return {
    ...reader,
    read: (given, option) => reader.read(typeof given === 'string' ? valueOf(given) : given, option),
  };
}

/** Names what there is before anything is read. @throws OutboxError `OUTBOX_REQUEST_INVALID` */
function assertKnown(kind: string, known: readonly string[], given: unknown): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const among = known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`;
  throw new OutboxError(
    'OUTBOX_REQUEST_INVALID',
    `There is no ${kind} ${JSON.stringify(unknown.slice(0, 100))}: ${among}.`,
  );
}

/** The values are not repeated: they may be secret. */
function invalidRequest(problems: readonly Problem[]): OutboxError {
  const issues = problems.slice(0, mostProblems).map(({ instead, path, what }) => ({
    where: path,
    problem: instead === undefined ? what : `${what}: ${instead}`,
  }));
  const [first] = issues;
  const where = first === undefined || first.where === '' ? '' : ` "${first.where}"`;
  return new OutboxError(
    'OUTBOX_REQUEST_INVALID',
    `The request is not as described:${where} ${first?.problem ?? ''}`,
    { details: { issues } },
  );
}
