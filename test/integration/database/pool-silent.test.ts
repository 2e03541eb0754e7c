import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';

test('when the session becomes silent, neither busy nor idle connections block anything', {
  tags: ['no-lane-stops'],
}, async (context) => {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  // Statements have a limit that this test never reaches, so that only the session can free them.
  const pool = openDatabase({ url, connections: 4, limits: { statementMs: 600_000, lockMs: 5_000 } });
  context.onTestFinished(() => pool.close());
  const session = await pool.openSession('silent', () => undefined);
  context.onTestFinished(() => session.stop());
  // Otherwise a failure here waits minutes for connections that were not given up.
  context.onTestFinished(() => proxy.inject({ kind: 'reset' }));
  const busy = pool.query('select pg_sleep(100)').then(
    () => 'answered',
    () => 'given up',
  );
  // At the same time, so that each is answered over a connection of its own, which then is idle.
  await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.2)')));
  const before = session.current()?.key;

  proxy.inject({ kind: 'strand' });
  await until(
    () => proxy.fired('strand') > 0 && ![undefined, before].includes(session.current()?.key),
    60_000,
  );
  const one = pool.query<{ n: number }>('select 1 as n').then(
    ([row]) => row?.n,
    (error: unknown) => error,
  );
  expect(await Promise.race([one, delay(15_000, 'silent')])).toBe(1);
  expect(await Promise.race([busy, delay(15_000, 'silent')])).toBe('given up');
});
