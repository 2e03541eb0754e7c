/** A row of the outbox, as needed to publish it. */
export interface ClaimedMessage {
  readonly id: string;
  readonly position: string;
  readonly key: string | null;
  readonly payload: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | null;
  /** The workflow of its own, which waits for the outcome; `null` if its lane delivers it. */
  readonly ownWorkflow: string | null;
  readonly attempts: number;
  /** In ISO format with milliseconds, UTC. */
  readonly createdAt: string;
  /** When it, or its next try, was due, in milliseconds since 1970; `null`: it could go at once. */
  readonly dueAtMs: number | null;
  /** True if it was published before, and is sent again for its receipt. */
  readonly resent: boolean;
  /** True if it must not be sent: a retrying, blocked or blocking failed message of its key comes before it. */
  readonly blocked: boolean;
  /** True if a dead owner may already have published it. */
  readonly suspect: boolean;
  /** When it expires, in ISO format with milliseconds, UTC; `null`: never. */
  readonly expiresAt: string | null;
  /** By the clock of `performance.now()`: from then on it must not be sent; never before its expiry. `null`: it may always be sent. */
  readonly expiresBy: number | null;
}

/** Whether it must not be sent any more. What has expired stays so. @param now by the clock of `performance.now()` */
export function hasExpired({ expiresBy }: Pick<ClaimedMessage, 'expiresBy'>, now: number): boolean {
  return expiresBy !== null && expiresBy <= now;
}

/** The columns of `outbox.claim` that hold its messages; each holds the values of all of them, or `null` without any. */
export interface ClaimRow {
  /** UUIDs of 36 characters, without separators. */
  readonly ids: string | null;
  readonly positions: string | null;
  /** Milliseconds since 1970. */
  readonly created: string | null;
  /** Of the payloads, in bytes of UTF-8. */
  readonly lengths: string | null;
  /** Without separators. */
  readonly payloads: string | null;
  readonly keys: string | null;
  readonly headers: string | null;
  readonly others: string | null;
}

/** What of a message is not as usual. */
interface Other {
  /** Its index in the batch, from 0. */
  readonly n: number;
  readonly contentType: string;
  readonly attempts: number;
  readonly workflowId: string | null;
  readonly suspect: boolean;
  readonly blocked: boolean;
  /** Milliseconds since 1970; `null` or absent: never. */
  readonly expiresAt?: number | null;
  /** From the claim on, rounded up; `null` or absent: it may always be sent. */
  readonly expiresInMs?: number | null;
  /** Milliseconds since 1970; `null` or absent: at once. */
  readonly dueAt?: number | null;
  readonly resent?: boolean;
}

const idLength = 36;
const usual: Omit<Other, 'n'> = {
  contentType: 'application/json',
  attempts: 0,
  workflowId: null,
  suspect: false,
  blocked: false,
};

/**
 * The messages of a claim.
 *
 * Ids and payloads are parts of one long string each, which costs a tenth of decoding them one by one.
 */
export function readClaimed(row: ClaimRow): readonly ClaimedMessage[] {
  const { ids, positions, created, lengths, payloads } = row;
  if (ids === null || positions === null || created === null || lengths === null || payloads === null)
    return [];
  const sizes = lengths.split(',');
  const times = created.split(',');
  const keys = listOf(row.keys) as readonly (string | null)[];
  const headers = listOf(row.headers) as readonly ClaimedMessage['headers'][];
  const others = listOf(row.others) as readonly Other[];
  const payloadAt = reader(payloads, sizes);
  const isoOf = isoTimes();
  let next = 0;
  // Later than the claim, so that nothing expires early.
  const readAt = performance.now();
  return positions.split(',').map((position, n) => {
    const other = others[next]?.n === n ? others[next++] : undefined;
    const { contentType, attempts, workflowId, suspect, blocked, dueAt, resent, expiresAt, expiresInMs } =
      other ?? usual;
    return {
      id: ids.slice(n * idLength, (n + 1) * idLength),
      position,
      key: keys[n] ?? null,
      payload: payloadAt(n),
      contentType,
      headers: headers[n] ?? null,
      ownWorkflow: workflowId,
      attempts,
      createdAt: isoOf(Number(times[n])),
      dueAtMs: dueAt ?? null,
      resent: resent === true,
      blocked,
      suspect,
      expiresAt: typeof expiresAt === 'number' ? new Date(expiresAt).toISOString() : null,
      expiresBy: typeof expiresInMs === 'number' ? readAt + expiresInMs : null,
    };
  });
}

function listOf(json: string | null): unknown {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the database has written it
  return json === null ? [] : JSON.parse(json);
}

/** Reads the payloads from the first to the last. If all are ASCII, as JSON mostly is, byte offsets index the string. */
function reader(payloads: string, sizes: readonly string[]): (n: number) => string {
  let from = 0;
  const total = sizes.reduce((sum, size) => sum + Number(size), 0);
  const bytes = total === payloads.length ? undefined : Buffer.from(payloads, 'utf8');
  return (n) => {
    const start = from;
    from += Number(sizes[n]);
    return bytes?.toString('utf8', start, from) ?? payloads.slice(start, from);
  };
}

/** Formats times in ISO format. Those of a batch mostly have their second in common: a tenth of the cost of `toISOString`. */
function isoTimes(): (ms: number) => string {
  let second = Number.NaN;
  let prefix = '';
  return (ms) => {
    const rest = ms % 1_000;
    // Years before 1970 have negative rests.
    if (!(rest >= 0)) return new Date(ms).toISOString();
    if (ms - rest !== second) {
      second = ms - rest;
      prefix = new Date(second).toISOString().slice(0, -4);
    }
    return `${prefix}${String(rest).padStart(3, '0')}Z`;
  };
}
