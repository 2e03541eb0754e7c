/** What clients, drivers and servers say about an error, on one of its layers. */
export interface ErrorLayer {
  /** SQLSTATE, or the client's own code. */
  readonly code?: unknown;
  /** SQLSTATE, where Prisma's driver adapters put a word of their own into `kind`. */
  readonly originalCode?: unknown;
  readonly message?: unknown;
  readonly originalMessage?: unknown;
}

/** Where an error keeps the one that it wraps: Prisma in its metadata, TypeORM and Knex by names of their own. */
interface Wrapping extends ErrorLayer {
  readonly cause?: unknown;
  readonly driverError?: unknown;
  readonly original?: unknown;
  readonly meta?: { readonly driverAdapterError?: unknown } | null;
}

const maxLayers = 10;

/** The error and those that it wraps, outermost first, as clients and their drivers nest them. */
export function layersOf(error: unknown): readonly ErrorLayer[] {
  const waiting: unknown[] = [error];
  const found: ErrorLayer[] = [];
  while (waiting.length > 0 && found.length < maxLayers) {
    const layer = waiting.shift();
    if (typeof layer !== 'object' || layer === null) continue;
    const read = readLayer(layer);
    if (read === undefined) continue;
    found.push(read.layer);
    waiting.push(...read.inner);
  }
  return found;
}

/** Reads each property once; `undefined` if one cannot be read: a handler may throw anything. */
function readLayer(
  given: Wrapping,
): { readonly layer: ErrorLayer; readonly inner: readonly unknown[] } | undefined {
  try {
    const { cause, code, driverError, message, meta, original, originalCode, originalMessage } = given;
    return {
      layer: { code, message, originalCode, originalMessage },
      inner: [meta, meta?.driverAdapterError, cause, driverError, original],
    };
  } catch {
    return undefined;
  }
}
