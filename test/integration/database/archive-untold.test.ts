import { expect, onTestFinished, test } from 'vitest';
import { FailureNotices } from '../../../src/relay/failure-notices.ts';
import { archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

const day = 24 * 60 * 60_000;

test('a failed message of which a relay is yet to tell stays until it was told', {
  tags: ['on-failed-called-once'],
}, async () => {
  const at = await archiveFixture();
  const { fixture } = at;
  onTestFinished(() => fixture.drop());
  fixture.broker.judge = () => 'permanent';
  await fixture.send('failed');
  await fixture.drain();
  await at.age('2 days');
  const archive = () => at.archive({ archiveFailedAfterMs: day }, { tellingOf: [fixture.topic] });
  expect(await archive()).toMatchObject({ archived: 0 });

  const told: string[] = [];
  const notices = new FailureNotices({
    database: fixture.database,
    topics: [fixture.topic],
    onFailed: async (_tx, { id }) => told.push(id),
    report: () => undefined,
  });
  notices.start();
  await until(() => told.length > 0);
  await notices.stop();
  expect(await archive()).toMatchObject({ archived: 1 });
  expect(await at.whereabouts('failed')).toEqual(['archived failed']);
});
