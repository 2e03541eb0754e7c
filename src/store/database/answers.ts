import { OutboxError } from '../../core/errors.ts';

/**
 * Reads the value of one column, as any client returns it.
 *
 * What clients make of types differs, and can be configured: some leave arrays, booleans and numbers as text, some make objects of
 * times. A misread answer would have a handler called again. So statements that run on the clients of services return texts, numbers
 * and booleans, and all else as text of JSON.
 */
export type CellReader<Value> = (cell: unknown) => Value;

type RowReaders<Row> = { readonly [Column in keyof Row]: CellReader<Row[Column]> };

/** @throws OutboxError `OUTBOX_CLIENT_UNFIT` unless the columns are what their readers expect */
export function readRows<Row extends object>(
  rows: readonly object[],
  readers: RowReaders<Row>,
): readonly Row[] {
  return rows.map((row) => readColumns(row, readers));
}

/** The same of a statement that returns one row. A client that drops it is refused, too. */
export function readRow<Row extends object>(rows: readonly object[], readers: RowReaders<Row>): Row {
  const [row] = rows;
  if (row === undefined) throw clientUnfit('returned no row');
  return readColumns(row, readers);
}

function readColumns<Row extends object>(row: object, readers: RowReaders<Row>): Row {
  const read: Record<string, unknown> = {};
  // Runs for each message: entries of objects would cost several times as much.
  for (const column in readers) read[column] = readers[column](Reflect.get(row, column));
  return read as Row;
}

export const textCell: CellReader<string> = (cell) => {
  if (typeof cell === 'string') return cell;
  throw clientUnfit(`returned ${typeof cell} instead of a text`);
};

export const flagCell: CellReader<boolean> = (cell) => {
  if (cell === true || cell === 't' || cell === 'true') return true;
  if (cell === false || cell === 'f' || cell === 'false') return false;
  throw clientUnfit(`returned ${typeof cell} instead of a boolean`);
};

/** Of `integer` and `float8`; libraries of decimals make objects of them, whose value is a text. */
export const numberCell: CellReader<number> = (cell) => {
  const given = typeof cell === 'object' ? cell?.valueOf() : cell;
  const isNumber = cell === given && (typeof cell === 'number' || typeof cell === 'bigint');
  const value = isNumber || (typeof given === 'string' && given !== '') ? Number(given) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw clientUnfit(`returned ${typeof cell} instead of a number`);
};

export function choiceCell<const Text extends string>(...texts: readonly Text[]): CellReader<Text> {
  return (cell) => {
    const found = texts.find((one) => one === cell);
    if (found !== undefined) return found;
    throw clientUnfit(`returned something else than ${texts.join(', ')}`);
  };
}

export function orNull<Value>(read: CellReader<Value>): CellReader<Value | null> {
  return (cell) => (cell === null ? null : read(cell));
}

/** Of text of JSON; nothing checks what it contains. */
export const jsonCell: CellReader<unknown> = (cell) => {
  try {
    // oxlint-disable-next-line eslint/no-restricted-properties -- its error becomes the cause
    return JSON.parse(textCell(cell));
  } catch (error) {
    if (error instanceof OutboxError) throw error;
    throw clientUnfit('changed a text of JSON', error);
  }
};

/** Of text of a JSON list. */
export function listCell<Value>(read: CellReader<Value>): CellReader<readonly Value[]> {
  return (cell) => {
    const list = jsonCell(cell);
    if (!Array.isArray(list)) throw clientUnfit('returned no list');
    return list.map(read);
  };
}

/** @returns the rows, if these are rows: objects by names of columns */
export function checkedRows<Row>(rows: readonly Row[]): readonly Row[] {
  const given: unknown = rows;
  if (!Array.isArray(given)) throw clientUnfit('returned no rows');
  if (given.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row))) return rows;
  throw clientUnfit('returned rows that are not objects by the names of their columns');
}

/** @param what ends the sentence "The client …" */
export function clientUnfit(what: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_CLIENT_UNFIT', `The client of PostgreSQL ${what}.`, { cause });
}
