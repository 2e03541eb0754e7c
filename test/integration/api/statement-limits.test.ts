import { afterEach, expect, onTestFinished, test } from 'vitest';
import { apiSessions } from '../../../src/app/operations/api-sessions.ts';
import {
  type RequestOperations,
  type RequestWay,
  type ServedOperations,
  servedOperations,
} from '../../../src/app/operations/served-operations.ts';
import { signInTries } from '../../../src/app/operations/sign-in-tries.ts';
import type { DatabaseConfig } from '../../../src/config/database-config.ts';
import { orLate } from '../../../src/core/or-late.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

let lane: LaneFixture;
let served: ServedOperations;
eachLane((made) => {
  lane = made;
  served = servedOperations({ database: { url: lane.url } }, { read: 500, change: 500 });
});
afterEach(() => served.close());

test.for<readonly [string, RequestWay, (at: RequestOperations, id: string) => Promise<unknown>]>([
  ['a read', 'read', (at, id) => at.show(id)],
  ['a change', 'change', (at, id) => at.cancel({ ids: [id] }, ada)],
  ['a look into the log', 'wait', (at, id) => at.show(id, { log: true })],
  ['a pause', 'wait', (at) => at.pause({ topic: 'orders' }, { ...ada, timeout: 0 })],
  ['a change of lanes', 'wait', (at) => at.changeLanes('orders', 2, { ...ada, timeout: 0 })],
  ['a withdrawal', 'wait', (at, id) => at.withdraw({ ids: [id] }, ada)],
  ['an adoption', 'long', (at) => at.adopt({ actor: 'ada', newInstallation: true })],
  ['a verification', 'long', (at) => at.verify({})],
])(
  '%s ends where a table stays locked, and says so',
  { tags: ['no-request-waits-forever'] },
  async ([, way, work]) => {
    const id = await lane.send('A', { afterMs: 3_600_000 });
    const holder = await lane.begin();
    await holder.query('lock table outbox.message, outbox.topic, outbox.lane in access exclusive mode');

    const end = served.run(way, (at) => work(at, id)).catch((error: unknown) => error);
    const told = await orLate(end, 20_000);
    await holder.rollback();
    await end;

    expect(told).toMatchObject({
      code: 'OUTBOX_SERVER_UNAVAILABLE',
      message: 'A statement took too long and was ended.',
    });
    expect(await lane.states('A'), 'nothing was done').toEqual(['waiting']);
  },
);

test.for<readonly [string, string, (at: DatabaseConfig) => Promise<unknown>]>([
  [
    'who has signed in',
    'api_session',
    async (at) => {
      const sessions = apiSessions(at, () => 'provider', { idleMs: 60_000, longestMs: 60_000 }, 500);
      onTestFinished(() => sessions.close());
      await sessions.use('hash');
    },
  ],
  [
    'whether a password may be tried',
    'sign_in_try',
    async (at) => {
      const tries = signInTries(at, 500);
      onTestFinished(() => tries.close());
      await tries.begin([{ what: 'a name', most: 5 }]);
    },
  ],
])(
  'the question %s ends where its table stays locked',
  { tags: ['no-request-waits-forever'] },
  async ([, table, ask]) => {
    const holder = await lane.begin();
    await holder.query(`lock table outbox.${table} in access exclusive mode`);

    const end = ask({ url: lane.url }).catch((error: unknown) => error);
    const told = await orLate(end, 20_000);
    await holder.rollback();
    await end;

    expect(told).toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  },
);

test('a statement that is long because its tables are large is not ended where it may be', async () => {
  const slow = () => served.run('long', (at) => at.verify({ effects: { group: 'g', query: slowQuery } }));
  const slowQuery = `select '0'::text as id, 0 as effects from (select pg_sleep(0.8)) s where s is null`;

  await expect(slow()).resolves.toMatchObject({ ok: true });
});
