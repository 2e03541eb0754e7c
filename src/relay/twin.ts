import { OutboxError } from '../core/errors.ts';
import { rest } from '../core/rest.ts';
import type { Database } from '../store/database/database.ts';
import {
  deleteQuestion,
  noteServed,
  noteTwin,
  servedElsewhere,
  writeQuestion,
} from '../store/installation/twin.ts';
import type { AskPlace } from './ports.ts';
import type { Report } from './report.ts';

export interface TwinSearch {
  readonly database: Database;
  readonly ask: AskPlace;
  readonly signal: AbortSignal;
  /** Called before every question. */
  readonly progress: () => void;
}

/** In a failover relays see the old and the new primary for a moment; what lasts longer are two living databases. */
const lastsMs = 10_000;
/** After the first answer from elsewhere: answers come by chance from either side. */
const searchMs = 20_000;
const againMs = 500;

/**
 * Looks for another living database of this installation: a clone of its disk, or its original. Relays share the task
 * queues of their installation, so whoever of them answers a question that is in this database only shows which one it
 * works with.
 *
 * @returns its place; undefined: nobody answered from elsewhere, or only for a moment
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

/** The place of a relay that does not know the question. */
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
 * Asks before a relay delivers from a database that was moved to another server or restarted, which a clone was as well.
 * Where nobody else works for the installation that takes as long as an answer may.
 *
 * @throws OutboxError `OUTBOX_INSTALLATION_TWICE`
 */
export async function refuseTwin(database: Database, ask: AskPlace): Promise<void> {
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

/** Looks once, and tells what it finds. */
export async function reportTwin(search: TwinSearch, report: Report): Promise<void> {
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
    `Relays deliver for this installation from another living database as well: ${place}.`,
    { details: { place } },
  );
}
