import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from './process-identity.ts';

/**
 * The record of one started server process, kept in `<cache>/run/<id>.json` until the server is stopped or reaped.
 *
 * Temporary data is always in `<cache>/run/<id>`, so a record cannot cause the removal of any other folder.
 */
export interface RunRecord {
  readonly id: string;
  readonly server: string;
  /** See `processSpace`: process ids are meaningless outside it. */
  readonly space: string;
  readonly parent: ProcessIdentity;
  readonly child?: ProcessIdentity;
  /** Stops the server: cleanly if its data is kept, else as fast as possible. */
  readonly stopSignal: NodeJS.Signals;
  /** Name of the container, where Docker runs the server. */
  readonly container?: string;
  /** Docker volume that is removed with the server. */
  readonly volume?: string;
  /** The kept data folder in use; one server uses it at a time. */
  readonly keptData?: string;
}

/** What the next start does with a record: nothing, remove its leftovers, or stop its process and then remove them. */
export type ReapDecision = 'leave' | 'remove' | 'kill';

/** The processes that run now. */
export interface ProcessTable {
  readonly space: string;
  readonly startedAtOf: (pid: number) => string | undefined;
}

/**
 * Decides what to do with one record.
 *
 * A process is killed only if its id *and* its start time match the record and its parent is gone: a process that
 * reuses the id is left alone.
 */
export function decideReap(record: RunRecord, table: ProcessTable): ReapDecision {
  const runs = (identity: ProcessIdentity) => table.startedAtOf(identity.pid) === identity.startedAt;
  if (record.space !== table.space || runs(record.parent)) return 'leave';
  return record.child !== undefined && runs(record.child) ? 'kill' : 'remove';
}

/** The folder of records and temporary data. */
export function runFolder(cache: string): string {
  return join(cache, 'run');
}

/** Writes a record. Synchronous, so that no other code runs between the start of a process and its record. */
export function writeRunRecord(cache: string, record: RunRecord): void {
  const file = recordFile(cache, record.id);
  mkdirSync(runFolder(cache), { recursive: true });
  writeFileSync(`${file}.draft`, JSON.stringify(record));
  renameSync(`${file}.draft`, file);
}

/** Removes a record together with the temporary data. */
export function removeRun(cache: string, id: string): void {
  rmSync(join(runFolder(cache), id), { recursive: true, force: true, maxRetries: 5 });
  rmSync(recordFile(cache, id), { force: true });
}

/** All records; other files are skipped. */
export function readRunRecords(cache: string): readonly RunRecord[] {
  const records: RunRecord[] = [];
  for (const entry of listFolder(runFolder(cache))) {
    if (!entry.endsWith('.json')) continue;
    try {
      const record = JSON.parse(readFileSync(join(runFolder(cache), entry), 'utf8')) as RunRecord;
      if (`${record.id}.json` === entry) records.push(record);
    } catch {
      // Removed in the meantime by its own process or by another one that reaps.
    }
  }
  return records;
}

function recordFile(cache: string, id: string): string {
  return join(runFolder(cache), `${id}.json`);
}

function listFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
