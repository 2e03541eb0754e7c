import { OutboxError } from '../core/errors.ts';
import { rest } from '../core/rest.ts';
import type { Sql } from '../store/database/database.ts';
import {
  deleteQuestion,
  noteServed,
  noteTwin,
  servedElsewhere,
  writeQuestion,
} from '../store/installation/twin.ts';
import type { AskPlace } from './ports.ts';
import type { RelayReport } from './report.ts';

export interface TwinSearch {
  readonly database: Sql;
  readonly ask: AskPlace;
  readonly signal: AbortSignal;
  /** Called before every question. */
  readonly progress: () => void;
}

/** During a failover relays briefly see both primaries; if that lasts longer, two databases run. */
const lastsMs = 10_000;
/** How long to ask after the first answer from elsewhere: each answer comes from either side by chance. */
const searchMs = 20_000;
const againMs = 500;

/**
 * Looks for another running database of this installation: a clone of its disk, or its original. All relays of an
 * installation share its task queues. A question is written to this database only, so the answer of a relay shows whether
 * it uses this database or another one.
 *
 * @returns the place of the other database; `undefined`: no relay answered from elsewhere, or only briefly
 */
async function findTwin(search: TwinSearch): Promise<string | undefined> {
  const { signal } = search;
  let firstAt: number | undefined;
  while (!signal.aborted) {
    const place = await askOnce(search);
    const now = performance.now();
    if (place !== undefined) firstAt ??= now;
    if (firstAt === undefined) return undefined;
    if (place !== undefined && now - firstAt >= lastsMs) return place;
    if (now - firstAt > searchMs) return undefined;
    await rest(againMs, signal);
  }
  return undefined;
}

/** The database place of a relay that does not find the question. */
async function askOnce({ database, ask, signal, progress }: TwinSearch): Promise<string | undefined> {
  progress();
  const question = await writeQuestion(database);
  try {
    const answer = await ask(question, signal);
    return answer === undefined || answer.known ? undefined : answer.place;
  } finally {
    await deleteQuestion(database, question);
  }
}

/**
 * Checks for a twin before a relay delivers from a database that was restarted or moved to another server, because a clone
 * looks the same. If no other relay runs, this takes the full time limit of an answer.
 *
 * @throws OutboxError `OUTBOX_INSTALLATION_TWICE`
 */
export async function refuseTwin(database: Sql, ask: AskPlace): Promise<void> {
  if (await servedElsewhere(database)) {
    const place = await findTwin({
      database,
      ask,
      signal: new AbortController().signal,
      progress: () => undefined,
    });
    if (place !== undefined) {
      await noteTwin(database, place);
      throw twice(place);
    }
  }
  await noteServed(database);
}

/** Looks once, and reports a twin. */
export async function reportTwin(search: TwinSearch, report: RelayReport): Promise<void> {
  try {
    const place = await findTwin(search);
    if (place === undefined) return;
    await noteTwin(search.database, place);
    report({ type: 'error', during: 'installation', error: twice(place) });
  } catch (error) {
    if (!search.signal.aborted) report({ type: 'error', during: 'installation', error });
  }
}

function twice(place: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INSTALLATION_TWICE',
    `Relays also deliver for this installation from another running database: ${place}.`,
    { details: { place } },
  );
}
