import { expect, test } from 'vitest';
import { numbered, openStage } from '../../support/fixtures/stage.ts';

test('nothing of a relay that tells alerts keeps its process alive once it is stopped', {}, async (context) => {
  const stage = await openStage(context, { topics: [numbered('orders')] });
  const relay = await stage.relayProcess({ alertsTo: 'http://127.0.0.1:9/' });
  const judged = async () =>
    (await stage.database.query('select from outbox.figures where judged > 0')).length;
  await expect.poll(judged, { timeout: 60_000 }).toBe(1);
  let left = false;
  void relay.exited.then(() => (left = true));

  relay.signal('SIGTERM');
  await expect.poll(() => left, { timeout: 60_000 }).toBe(true);
});
