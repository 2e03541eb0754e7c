import { setTimeout as delay } from 'node:timers/promises';
import { openContender, type Servers } from './contenders/arena.ts';
import { contenders } from './contenders/contenders.ts';
import { mostOpen, type SustainedSizes, warmUpMs } from './sustained.ts';

/** What pg-boss stores, delivers and deletes at the same time. */
export interface SustainedPeerFigures {
  /** Jobs per second. */
  readonly stored: number;
  readonly delivered: number;
  readonly deleted: number;
}

const perFill = 20_000;
const stepMs = 100;
/** Its queue only grows: a long run would show no other rate. */
const longestSeconds = 180;

interface Counts {
  readonly stored: number;
  readonly delivered: number;
  readonly deleted: number;
}

/** A process that delivers and deletes, and one that stores by two writers, which rest while too much is open. */
export async function measureSustainedPeer(
  servers: Servers,
  node: string,
  sizes: SustainedSizes,
  tell: (line: string) => void,
): Promise<SustainedPeerFigures> {
  const seconds = Math.min(sizes.seconds, longestSeconds);
  const topic = await servers.arrivals.createTopic('pgBoss');
  const entry = {
    name: 'pgBoss',
    node,
    setting: { ...contenders.pgBoss.settings[0], deleteAfter: 5 },
  } as const;
  const deliverer = await openContender(servers, entry, { topic });
  const writer = await openContender(servers, entry, { topic, delivers: false });
  let stored = 0;
  const counts = async (): Promise<Counts> => {
    const [left] = await servers.database.query<{ jobs: number }>(
      'select count(*)::float8 as jobs from pgboss.job where name = $1',
      [topic],
    );
    return { stored, delivered: await servers.arrivals.count(topic), deleted: stored - (left?.jobs ?? 0) };
  };
  const goOn = async (forMs: number): Promise<void> => {
    for (const until = performance.now() + forMs; performance.now() < until; ) {
      if (stored - (await servers.arrivals.count(topic)) > mostOpen) {
        await delay(stepMs);
      } else {
        await writer.ask('fill', { count: perFill });
        stored += perFill;
      }
    }
  };
  try {
    await deliverer.ask('start', null);
    await goOn(warmUpMs);
    const before = await counts();
    const startedAt = performance.now();
    await goOn(seconds * 1_000);
    const elapsed = performance.now() - startedAt;
    const after = await counts();
    tell(`sustained, pg-boss: ${after.delivered} delivered, ${after.deleted} deleted`);
    const perSecond = (name: keyof Counts) => Math.round(((after[name] - before[name]) * 1_000) / elapsed);
    return { stored: perSecond('stored'), delivered: perSecond('delivered'), deleted: perSecond('deleted') };
  } finally {
    writer.kill();
    await deliverer.stop();
  }
}
