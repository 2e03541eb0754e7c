import { randomUUID } from 'node:crypto';
import type { BulkPageAnswer, BulkRunner } from '../../../src/bulk/bulk-runner.ts';
import { away, ScriptedCalls } from './scripted-calls.ts';

/** A bulk operation whose pages go on, rest, fail once and end. */
export interface ScriptedBulk {
  readonly id: string;
  readonly runner: BulkRunner;
  /** Waits until its last page has been asked for. */
  untilEnded(): Promise<void>;
}

export function scriptedBulk(): ScriptedBulk {
  const id = randomUUID();
  const pages = new ScriptedCalls<BulkPageAnswer>();
  pages.plan(
    id,
    () => ({ kind: 'more', waitMs: 1 }),
    () => ({ kind: 'resting', state: 'paused' }),
    away,
    () => ({ kind: 'ended', state: 'done', counts: {} }),
  );
  return {
    id,
    runner: {
      runPage: (known, _progress, signal = new AbortController().signal) => pages.answer(known, signal),
      abort: async () => false,
    },
    untilEnded: () => pages.untilCalls(id, 4),
  };
}
