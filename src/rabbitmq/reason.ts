/** The text of any thrown value. Of an address that was tried at several places, Node's own text is empty. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join(', ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}

/** The reply code of the server, or the text that Node has as code, where there is one. */
export function codeOf(error: unknown): number | string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'number' || typeof code === 'string' ? code : undefined;
}
