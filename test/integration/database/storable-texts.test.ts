import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { noteUntold, readDestinations, takeDestination } from '../../../src/store/alerts/destinations.ts';
import { readRelays, writeRelay } from '../../../src/store/installation/relays.ts';
import { acquireLane, writeHold } from '../../../src/store/lane/lease.ts';
import { readStatus } from '../../../src/store/lane/status.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';

let lanes: LaneFixture;
beforeEach(async () => {
  lanes = await laneFixture();
});
afterEach(() => lanes.drop());

/** With NUL, and cut in the middle of a character. */
const said = `away \0${'🙂'.slice(0, 1)}`;
const stored = 'away \u2400\ufffd';

const failures: Readonly<Record<string, () => Promise<unknown>>> = {
  'the hold of a lane': async () => {
    const owner = randomUUID();
    await lanes.send('held');
    await acquireLane(lanes.database, lanes.lane, owner);
    await writeHold(lanes.database, lanes.lane, owner, { scope: 'topic', reason: said });
    return (await readStatus(lanes.database))[0]?.hold?.reason;
  },
  'a server that a relay does not reach': async () => {
    const server = { server: 'kafka', address: 'k:1', error: said };
    await writeRelay(lanes.database, { ...quietRelay, id: randomUUID(), servers: [server] });
    return (await readRelays(lanes.database))[0]?.servers[0]?.error;
  },
  'a destination that was not told': async () => {
    await takeDestination(lanes.database, 'webhook', { leaseMs: 60_000, gapMs: 60_000 });
    await noteUntold(lanes.database, 'webhook', said);
    return (await readDestinations(lanes.database))[0]?.error;
  },
};

test.each(Object.keys(failures))(
  '%s is recorded, whatever the text of the failure is',
  { tags: ['handler-may-throw-anything'] },
  async (what) => {
    expect(await failures[what]?.()).toBe(stored);
  },
);
