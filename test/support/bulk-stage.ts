import { expect } from 'vitest';
import { operations, type Operations } from '../../src/operations.ts';
import type { State } from '../../src/core/transitions.ts';
import { storeMessages } from '../../src/store/write.ts';
import type { Stage } from './stage.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** Opens operations on the database of a stage. */
export function operationsAt(stage: Stage, { onTestFinished }: TestEnd): Operations {
  const operator = operations({ database: { url: stage.url } });
  onTestFinished(() => operator.close());
  return operator;
}

/** Stores messages that failed earlier, and answers their ids. */
export async function storeFailed(stage: Stage, topic: string, count: number): Promise<readonly string[]> {
  const ids = await storeMany(stage, topic, count);
  await stage.database.query(
    `update outbox.message set state = 'failed', attempts = 5, last_error = 'no' where id = any($1::uuid[])`,
    [ids],
  );
  return ids;
}

/** Stores numbered messages, due after so many milliseconds or at once. */
export async function storeMany(
  stage: Stage,
  topic: string,
  count: number,
  afterMs?: number,
): Promise<readonly string[]> {
  const messages = Array.from({ length: count }, (_, n) => ({
    payload: JSON.stringify({ n }),
    ...(afterMs !== undefined && { afterMs }),
  }));
  return (await storeMessages(stage.database, topic, messages)).map(({ id }) => id);
}

/** How many messages are in which state, as people see them. */
export async function statesAt(stage: Stage): Promise<Readonly<Partial<Record<State, number>>>> {
  const rows = await stage.database.query<{ state: State; count: number }>(
    'select state::text as state, count(*)::integer as count from outbox.message_view group by 1 order by 1',
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** Fails unless the operation has written exactly one audit entry for each of these messages, and none for others. */
export async function expectAuditedOnce(stage: Stage, bulkId: string, ids: readonly string[]): Promise<void> {
  const rows = await stage.database.query<{ id: string; count: number }>(
    `select message_id as id, count(*)::integer as count from outbox.audit
     where bulk_id = $1 and message_id is not null group by 1`,
    [bulkId],
  );
  expect(rows.filter(({ count }) => count !== 1)).toEqual([]);
  expect(rows.map(({ id }) => id).toSorted()).toEqual([...ids].toSorted());
}

/** The workflow of an operation. */
export function bulkWorkflow(stage: Stage, bulkId: string) {
  return stage.temporal.workflow.getHandle(`${stage.installation}/bulk/${bulkId}`);
}
