import { operations, type Operations } from '../../src/operations.ts';
import type { LaneBench } from './lane-bench.ts';
import { labelOf } from './scripted-broker.ts';

/** Who operates in tests. */
export const ada = { actor: 'ada', reason: 'the test says so' };

/** An operator at a bench, who speaks of messages by their labels. */
export interface Operator extends Operations {
  /** `operations` names messages by ids. */
  of(...labels: readonly string[]): { readonly ids: readonly string[] };
}

/** Opens operations on the bench's database. */
export function operatorAt(bench: LaneBench): Operator {
  return {
    ...operations({ database: { url: bench.url } }),
    of: (...labels) => ({ ids: labels.map((label) => bench.idOf(label)) }),
  };
}

/** Sends and drains so that the named messages fail, and what the broker does with others is as before. */
export async function failAll(bench: LaneBench, labels: readonly string[], key?: string): Promise<void> {
  const judge = bench.broker.judge;
  bench.broker.judge = (message) => (labels.includes(labelOf(message)) ? 'permanent' : judge(message));
  for (const label of labels) await bench.send(label, { ...(key !== undefined && { key }) });
  await bench.drain();
  bench.broker.judge = judge;
}

/** Three messages of the key "K": the first failed and holds it (`exhausted: 'hold-key'`), the others queue behind it. */
export async function failHead(bench: LaneBench): Promise<void> {
  await failAll(bench, ['K1'], 'K');
  for (const label of ['K2', 'K3']) await bench.send(label, { key: 'K' });
  await bench.drain();
  const states = await bench.states('K1', 'K2', 'K3');
  if (states.join(' ') !== 'failed held held') throw new Error(`The key is not held: ${states.join(' ')}`);
}

export interface AuditRow {
  readonly actor: string;
  readonly action: string;
  readonly id: string | null;
  readonly topic: string | null;
  readonly result: string;
  readonly reason: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
}

/** Everything in the audit, in its order. */
export function auditOf(bench: LaneBench): Promise<readonly AuditRow[]> {
  return bench.database.query<AuditRow>(
    'select actor, action, message_id as id, topic, result, reason, details from outbox.audit a order by a.id',
  );
}
