import type { Sql } from '../../src/store/database.ts';
import type { StressWorld } from './stress-world.ts';

/** The invariants of the lane, each with the ids that break it. Empty lists are the good outcome. */
export async function violations(
  world: StressWorld,
  sql: Sql,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const rows = await sql.query<{ id: string; state: string }>(
    `select id, state::text from outbox.message_view`,
  );
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const times = new Map<string, number>();
  for (const { id } of world.log) times.set(id, (times.get(id) ?? 0) + 1);
  const committed = [...world.committed.keys()];
  const published = [...times.keys()];
  return {
    'I1 lost': committed.filter(
      (id) => !times.has(id) && !world.canceled.has(id) && states.get(id) !== 'failed',
    ),
    'I1 failed without a permanent error': committed.filter(
      (id) => states.get(id) === 'failed' && !world.permanent.has(id),
    ),
    'I2 ghost': published.filter((id) => !world.committed.has(id) || world.rolledBack.has(id)),
    'I2 stored though rolled back': [...world.rolledBack].filter((id) => states.has(id)),
    // An owner that was frozen may send late what its successor has failed for good, as it may send what was canceled.
    'I3 out of order': outOfOrder(world).filter(
      (id) => !(world.frozen.has(id) && states.get(id) === 'failed'),
    ),
    'I5 canceled and published': published.filter((id) => world.canceled.has(id) && !world.frozen.has(id)),
    'I9 state without log': rows.flatMap(({ id, state }) =>
      contradicts(state, times.has(id), world.frozen.has(id)) ? [id] : [],
    ),
    'I11 twice without a fault': published.filter((id) => (times.get(id) ?? 0) > 1 && !world.faulty.has(id)),
  };
}

/** Published is in the log, canceled is not, and nothing is between states at rest. */
function contradicts(state: string, inLog: boolean, frozen: boolean): boolean {
  if (state === 'published') return !inLog;
  if (state === 'canceled') return inLog && !frozen;
  return state !== 'failed';
}

/**
 * Ids that were first published after a message of their key that was sent when they were already committed. Delayed
 * messages have no place until they are released.
 */
function outOfOrder(world: StressWorld): readonly string[] {
  const firsts = [...new Set(world.log.map(({ id }) => id))].flatMap((id) => world.committed.get(id) ?? []);
  const late = new Set<string>();
  // Per key, the youngest send among those already published: whoever follows must not have been committed before it.
  const youngest = new Map<string, number>();
  for (const { id, key, delayed, beganAt, committedAt } of firsts) {
    if (key === null || delayed) continue;
    const before = youngest.get(key) ?? 0;
    if (committedAt < before) late.add(id);
    youngest.set(key, Math.max(before, beganAt));
  }
  return [...late];
}
