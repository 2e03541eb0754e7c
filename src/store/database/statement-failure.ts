import { layersOf } from '../../core/error-layers.ts';
import { OutboxError } from '../../core/errors.ts';
import { schemaMissing } from './schema-missing.ts';

const insufficientPrivilege = '42501';
/** It has no SQLSTATE of its own. In another language of the server's messages it counts as a missing right. */
const byPolicy = /row-level security/;

/**
 * The error of a statement of this package that the server has refused for what the database lacks: the schema of the outbox, a
 * part of it, or a right to it.
 *
 * @returns `undefined` for every other error. Not for statements of users: their missing rights have the same texts
 */
export function statementFailure(error: unknown): OutboxError | undefined {
  return schemaMissing(error) ?? rightMissing(error);
}

function rightMissing(error: unknown): OutboxError | undefined {
  if (error instanceof OutboxError) return undefined;
  const refusing = layersOf(error).filter(
    ({ code, originalCode }) => code === insufficientPrivilege || originalCode === insufficientPrivilege,
  );
  if (refusing.length === 0) return undefined;
  const said = refusing
    .flatMap(({ originalMessage, message }) => [originalMessage, message])
    .find((text): text is string => typeof text === 'string' && text !== '');
  const reason = (said ?? 'insufficient privilege').replace(/\.$/, '');
  const more = { details: { sqlState: insufficientPrivilege }, cause: error };
  if (byPolicy.test(reason))
    return new OutboxError(
      'OUTBOX_ROW_SECURITY_ACTIVE',
      `A table of the outbox has row level security: ${reason}.`,
      more,
    );
  return new OutboxError(
    'OUTBOX_PRIVILEGE_MISSING',
    `PostgreSQL does not let this role do what the outbox needs: ${reason}.`,
    more,
  );
}
