import { OutboxError } from '../core/errors.ts';
import { readJson } from '../core/json.ts';
import type { Operation } from './operation.ts';

/** Bounds of a request. */
const most = { headerBytes: 32_768, urlBytes: 8_192, bodyBytes: 65_536, depth: 64, bodyMs: 10_000 };

/** A request that is refused before anything is asked of the database, with its status. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly told: OutboxError;

  constructor(status: number, told: OutboxError) {
    super(told.message);
    this.status = status;
    this.told = told;
  }
}

/** @throws Refused */
export function assertBounds(request: Request): void {
  if (Buffer.byteLength(request.url) > most.urlBytes) throw tooLarge(414, `URL`, most.urlBytes);
  let bytes = 0;
  for (const [name, value] of request.headers) bytes += name.length + Buffer.byteLength(value) + 4;
  if (bytes > most.headerBytes) throw tooLarge(431, 'head', most.headerBytes);
}

/** Query parameters, each at most once. @throws OutboxError `OUTBOX_REQUEST_INVALID` */
export function queryOf(request: Request): Readonly<Record<string, string>> {
  const given = [...new URL(request.url).searchParams];
  const twice = given.find(([name], index) => given.findIndex(([other]) => other === name) !== index);
  if (twice !== undefined)
    throw new OutboxError('OUTBOX_REQUEST_INVALID', 'A query parameter is given twice.');
  return Object.fromEntries(given);
}

/**
 * The JSON of a change; without a body that of an empty object.
 *
 * @throws Refused, OutboxError `OUTBOX_REQUEST_INVALID`
 */
export async function bodyOf(
  request: Request,
  { bodyBytes = most.bodyBytes, method }: Operation,
): Promise<unknown> {
  if (method === 'GET') return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i.test(type.trim()))
    throw new Refused(
      415,
      new OutboxError('OUTBOX_REQUEST_INVALID', 'A change needs the header Content-Type: application/json.'),
    );
  const text = await textOf(request, bodyBytes);
  if (text === '' && hadBody(request))
    throw new OutboxError(
      'OUTBOX_REQUEST_INVALID',
      'The body had been read before it came here: mount the API before what reads bodies.',
    );
  if (text.trim() === '') return {};
  if (deepest(text) > most.depth)
    throw new OutboxError('OUTBOX_REQUEST_INVALID', `The body is nested more than ${most.depth} deep.`);
  const body = readJson(text);
  if (body === undefined) throw new OutboxError('OUTBOX_REQUEST_INVALID', 'The body is not JSON.');
  return body;
}

/** True if its head says that a body follows: without it, a rehearsal of a change would become the change. */
function hadBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0;
}

async function textOf(request: Request, bytes: number): Promise<string> {
  if (request.body === null) return '';
  const body: ReadableStream<Uint8Array> = request.body;
  const reader = body.getReader();
  const late = AbortSignal.timeout(most.bodyMs);
  const stop = (): void => void reader.cancel().catch(() => undefined);
  late.addEventListener('abort', stop, { once: true });
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new Refused(400, new OutboxError('OUTBOX_REQUEST_INVALID', 'The body did not arrive whole.'));
      });
      if (late.aborted)
        throw new Refused(
          408,
          new OutboxError('OUTBOX_REQUEST_INVALID', 'The body took too long to arrive.'),
        );
      if (done) break;
      size += value.byteLength;
      if (size > bytes) throw tooLarge(413, 'body', bytes);
      chunks.push(value);
    }
  } finally {
    late.removeEventListener('abort', stop);
    stop();
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new OutboxError('OUTBOX_REQUEST_INVALID', 'The body is not UTF-8.');
  }
}

/** How deep arrays and objects are nested, without parsing. */
function deepest(json: string): number {
  let [depth, deepestSoFar, inText] = [0, 0, false];
  for (let index = 0; index < json.length; index += 1) {
    const sign = json[index];
    if (inText) {
      if (sign === '\\') index += 1;
      else if (sign === '"') inText = false;
    } else if (sign === '"') inText = true;
    else if (sign === '{' || sign === '[') {
      depth += 1;
      deepestSoFar = Math.max(deepestSoFar, depth);
    } else if (sign === '}' || sign === ']') depth -= 1;
  }
  return deepestSoFar;
}

function tooLarge(status: number, what: string, bytes: number): Refused {
  return new Refused(
    status,
    new OutboxError('OUTBOX_REQUEST_TOO_LARGE', `The ${what} of a request may have ${bytes} bytes.`),
  );
}
