import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { expect } from 'vitest';
import { send, sendBatch, transaction } from '../../../src/index.ts';
import { scheduleIds } from '../../../src/temporal/relay/schedules.ts';
import { ada } from '../fixtures/operator.ts';
import type { StoryFault } from './alert-story.ts';
import { type Billing, lanesOfJobs, type StoryRelay, type StoryStage } from './story-stage.ts';

/** More than `lag` allows by default. */
const flood = 10_100;
const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);

/** A relay begins that has loaded a certificate of a week, and ends. */
export function certificateExpires(stage: StoryStage): StoryFault {
  let relay: StoryRelay | undefined;
  return {
    name: 'a certificate expires soon',
    tells: ['certificate http (client)'],
    prometheus: ['OutboxCertificate'],
    async begin() {
      relay = await stage.relay(2, 7);
    },
    async end() {
      relay?.signal('SIGTERM');
      await relay?.exited;
    },
  };
}

/** A handler that does not end, while many messages come. */
export function stuckConsumer({ client, topics: { orders } }: StoryStage, billing: Billing): StoryFault {
  let open = (): void => undefined;
  return {
    name: 'a consumer is stuck',
    tells: ['lag group billing of orders', 'stalledGroup group billing of orders'],
    prometheus: ['OutboxLag', 'OutboxStalledGroup'],
    async begin() {
      open = close(billing);
      const many = Array.from({ length: flood }, (_, n) => ({ payload: { n } }));
      await transaction(client, (tx) => sendBatch(tx, orders, many));
    },
    end: async () => open(),
  };
}

/** @returns what opens the gate again */
function close(billing: Billing): () => void {
  const { open, opened } = gate();
  billing.gate = opened;
  return open;
}

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A message that its handler refuses for good, and one that it has refused for two hours. */
export function poisonForTheGroup(
  { client, database, operator, topics: { orders } }: StoryStage,
  billing: Billing,
): StoryFault {
  const kept = async (state: 'failed' | 'parked') =>
    (await operator.inbox.list({ group: 'billing', states: [state] })).messages.map(({ id }) => id);
  return {
    name: 'poison for the group',
    tells: ['failed group billing', 'parked group billing'],
    prometheus: ['OutboxFailed', 'OutboxParked'],
    async begin() {
      await transaction(client, async (tx) => {
        await send(tx, orders, { n: -1 });
        await send(tx, orders, { n: -2 }, { key: 'closed' });
      });
      await expect.poll(() => kept('parked')).toHaveLength(1);
      await database.query(`update outbox.parked set arrived_at = arrived_at - interval '2 hours'`);
      await database.query(`update outbox.parked_key set parked_at = parked_at - interval '2 hours'`);
    },
    async end() {
      billing.refusing = false;
      await operator.inbox.discard({ group: 'billing', ids: await kept('failed') }, ada);
      await operator.inbox.retry({ group: 'billing', ids: await kept('parked') }, ada);
    },
  };
}

/** Somebody's transaction keeps a message locked whose time has come, so nobody can release it; others are stored after their time. */
export function messagesLate({ client, operator, pool, story, topics: { orders } }: StoryStage): StoryFault {
  let unlock = (): Promise<void> => Promise.resolve();
  return {
    name: 'messages are late',
    tells: ['lateness', 'oldestDue topic orders'],
    prometheus: ['OutboxLateness'],
    async begin(again) {
      const { id } = await transaction(client, (tx) => send(tx, orders, { n: 1 }, { after: 1_000 }));
      unlock = await locked(pool, id);
      await expect.poll(() => story.told, { timeout: 30_000 }).toContain('oldestDue topic orders firing');
      while (again()) {
        const late = await transaction(client, (tx) => send(tx, orders, { n: 1 }, { at: minutesAgo(2) }));
        await expect.poll(async () => (await operator.show(late.id))?.message?.state).toBe('published');
      }
    },
    end: () => unlock(),
  };
}

/** Locks the row of a message. @returns what unlocks it */
async function locked(pool: Pool, id: string): Promise<() => Promise<void>> {
  const session = await pool.connect();
  await session.query('begin');
  await session.query('select from outbox.message where id = $1 for update', [id]);
  return async () => {
    await session.query('rollback');
    session.release();
  };
}

/** The broker is killed while a message of two minutes ago waits, and another one for its receipt. */
export function brokerAway(
  { brokers, client, database, node, story, topics: { invoices } }: StoryStage,
  billing: Billing,
): StoryFault {
  const stalled = 'stalledGroup group billing of invoices';
  let open = (): void => undefined;
  return {
    name: 'the broker is away',
    tells: [
      'hold topic invoices',
      `serverAway kafka ${brokers}`,
      'oldestDue topic invoices',
      'receipts topic invoices',
      stalled,
    ],
    prometheus: ['OutboxHold', 'OutboxServerAway', 'OutboxOldestDue', 'OutboxReceipts'],
    async begin() {
      open = close(billing);
      await transaction(client, (tx) => send(tx, invoices, { n: 1 }));
      await expect.poll(() => story.told).toContain(`${stalled} firing`);
      await node.stop('SIGKILL');
      const { id } = await transaction(client, (tx) => send(tx, invoices, { n: 2 }));
      await database.query(
        `update outbox.message set created_at = created_at - interval '2 minutes' where id = $1`,
        [id],
      );
    },
    async end() {
      open();
      await node.start();
    },
  };
}

export function temporalAway({ temporal }: StoryStage): StoryFault {
  return {
    name: 'Temporal is away',
    tells: [`serverAway Temporal ${temporal.address}`],
    begin: async () => temporal.inject({ kind: 'reset' }),
    end: async () => temporal.heal(),
  };
}

/** Somebody ends the workflows of messages that wait. */
export function drift({ client, topics: { invoices }, workflows }: StoryStage): StoryFault {
  return {
    name: 'a workflow is terminated',
    tells: ['drift'],
    prometheus: ['OutboxDrift'],
    async begin(again) {
      const sent = Array.from({ length: 12 }, () => ({ payload: { n: 1 }, after: '1h' as const }));
      const stored = await transaction(client, (tx) => sendBatch(tx, invoices, sent));
      const handles = stored.map(({ workflowId }) => workflows.workflow.getHandle(workflowId));
      const running = async (): Promise<boolean> => {
        const found = await Promise.all(handles.map((one) => one.describe().catch(() => undefined)));
        return found.every((one) => one?.status.name === 'RUNNING');
      };
      // Again and again: the next comparison finds nothing, and a figure is read only now and then.
      while (again()) {
        await expect.poll(running, { timeout: 30_000 }).toBe(true);
        // Not after everything fired: it would fire again.
        if (again()) await Promise.all(handles.map((one) => one.terminate()));
      }
    },
    end: async () => undefined,
  };
}

/** The archive is paused in Temporal, and three days go by. */
export function archiveBehind({ database, installation, workflows }: StoryStage): StoryFault {
  const schedule = workflows.schedule.getHandle(scheduleIds(installation).archive);
  return {
    name: 'the archive is paused',
    tells: ['archive'],
    prometheus: ['OutboxArchive'],
    async begin() {
      await schedule.pause();
      // A round that had begun would move what is set back below.
      await expect.poll(async () => (await schedule.describe()).info.runningActions).toEqual([]);
      const [leaf] = await database.query<{ n: string }>('select n from outbox.leaf where closed_at is null');
      await database.query('select outbox.create_leaf($1::bigint + 1)', [leaf?.n]);
      await database.query('select outbox.next_leaf($1)', [leaf?.n]);
      await database.query(
        `update outbox.leaf set closed_at = closed_at - interval '3 days', newest_at = newest_at - interval '3 days'`,
      );
    },
    end: () => schedule.unpause(),
  };
}

/** The clock of the relays' host is a minute ahead. */
export function clockOff(relays: readonly StoryRelay[]): StoryFault {
  const turn = async (): Promise<void> => {
    for (const relay of relays) relay.signal('SIGUSR2');
  };
  return {
    name: 'the clock is off',
    tells: [`clock host ${hostname()}`],
    prometheus: ['OutboxClock'],
    begin: turn,
    end: turn,
  };
}

/** The relay that has more lanes freezes, and is killed when another one has taken them; another one starts in its place. */
export function relayKilled(
  { client, relay, topics: { jobs } }: StoryStage,
  relays: readonly StoryRelay[],
): StoryFault {
  let frozen: StoryRelay | undefined;
  const toEachLane = () => {
    const spread = Array.from({ length: 8 * lanesOfJobs }, (_, n) => ({ payload: { n } }));
    return transaction(client, (tx) => sendBatch(tx, jobs, spread));
  };
  return {
    name: 'a relay freezes and is killed',
    tells: ['oldestDue topic jobs'],
    prometheus: ['OutboxOneRelay', 'OutboxLanesTakenOver'],
    async begin() {
      await toEachLane();
      await expect
        .poll(
          async () => {
            const lanes = await Promise.all(relays.map((each) => each.lanesOf('jobs')));
            frozen = relays[lanes.indexOf(Math.max(...lanes))];
            return lanes.reduce((sum, one) => sum + one, 0);
          },
          { timeout: 30_000 },
        )
        .toBe(lanesOfJobs);
      frozen?.signal('SIGSTOP');
      await toEachLane();
    },
    async end() {
      frozen?.signal('SIGKILL');
      await relay(frozen === relays[0] ? 0 : 1);
    },
  };
}
