import { layersOf } from '../../core/error-layers.ts';
import { OutboxError } from '../../core/errors.ts';

/**
 * By SQLSTATE, how the server names what is missing in the schema `outbox`, in whatever language: a schema, a relation, a
 * function. A name of another schema or of an argument's type is not meant.
 */
const namings: Readonly<Record<string, RegExp>> = {
  '3F000': /(?<![\w$.])outbox(?![\w$.])/,
  '42P01': /(?<![\w$.])outbox\.\w+/,
  '42883': /^[^(]*?(?<![\w$.])(outbox\.\w+)\(/,
};

/**
 * The error of a database that lacks the outbox, or a part of it that this version needs.
 *
 * @returns `undefined` for every other error, also for one of a table, function or schema of the user's own
 */
export function schemaMissing(error: unknown): OutboxError | undefined {
  if (error instanceof OutboxError) return undefined;
  const layers = layersOf(error);
  const states = layers.flatMap(({ code, originalCode }) => [originalCode, code]);
  const sqlState = states.find((state) => typeof state === 'string' && state in namings);
  if (typeof sqlState !== 'string') return undefined;
  const texts = layers.flatMap(({ message, originalMessage }) => [originalMessage, message]);
  const missing = texts.map((text) => nameIn(text, sqlState)).find((name) => name !== undefined);
  if (missing === undefined) return undefined;
  return new OutboxError(
    'OUTBOX_MIGRATION_MISSING',
    sqlState === '3F000'
      ? 'The database has no outbox schema yet.'
      : `The database lacks ${missing}, which this version needs.`,
    { details: { server: 'PostgreSQL', sqlState, missing }, cause: error },
  );
}

function nameIn(text: unknown, sqlState: string): string | undefined {
  const [whole, name = whole] = (typeof text === 'string' && namings[sqlState]?.exec(text)) || [];
  return name;
}
