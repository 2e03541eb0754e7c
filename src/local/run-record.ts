import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from './process-identity.ts';

/**
 * One server process that was started here, written to `<cache>/run/<id>.json` while it is somebody's child.
 *
 * Temporary data lies in `<cache>/run/<id>`, never anywhere else, so that a record cannot name a folder to remove.
 */
export interface RunRecord {
  readonly id: string;
  readonly server: string;
  /** See `processSpace`: ids mean nothing outside of it. */
  readonly space: string;
  readonly parent: ProcessIdentity;
  readonly child?: ProcessIdentity;
  /** Ends the server: in a way that keeps its data whole, or at once where the data is thrown away. */
  readonly stopSignal: NodeJS.Signals;
  /** Name of the container, where Docker runs the server. */
  readonly container?: string;
  /** Docker volume that ends with the server. */
  readonly volume?: string;
  /** The kept data folder it uses, for which there is one user at a time. */
  readonly keptData?: string;
}

/** What the next start does about a record: nothing, remove what it left, or end its process and then remove. */
export type ReapDecision = 'leave' | 'remove' | 'kill';

/** What is known about the processes of now. */
export interface ProcessTable {
  readonly space: string;
  readonly startedAtOf: (pid: number) => string | undefined;
}

/**
 * Decides about one record.
 *
 * A process is killed only when its id *and* its start time are those of the record and its parent is gone: an id
 * that was given to somebody else meanwhile is left alone.
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

/** Writes a record. Synchronous, so that nothing happens between the start of a process and its record. */
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

/** All records; files that hold none are passed over. */
export function readRunRecords(cache: string): readonly RunRecord[] {
  const records: RunRecord[] = [];
  for (const entry of listFolder(runFolder(cache))) {
    if (!entry.endsWith('.json')) continue;
    try {
      const record = JSON.parse(readFileSync(join(runFolder(cache), entry), 'utf8')) as RunRecord;
      if (`${record.id}.json` === entry) records.push(record);
    } catch {
      // Removed meanwhile by its own process or by another that reaps.
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
