import { OutboxError } from './errors.ts';

/** As classes are named: what else somebody has made the name of an error may quote a payload. */
const className = /^[A-Za-z_$][\w$]{0,60}$/;
/** As PostgreSQL, Node and clients write codes. */
const written = /^(?:[0-9A-Z]{5}|[A-Z][A-Z0-9_]{1,60})$/;

/**
 * What metrics and spans say of an error: the code of one of ours, the class of any other one. Few values, and nothing of its text.
 *
 * @param codes true: also the codes of servers and clients
 */
export function errorTypeOf(error: unknown, codes = false): string {
  if (error instanceof OutboxError) return error.code;
  if (!(error instanceof Error)) return '_OTHER';
  const code: unknown = codes ? Reflect.get(error, 'code') : undefined;
  if (typeof code === 'string' && written.test(code)) return code;
  return className.test(error.name) ? error.name : '_OTHER';
}
