import { setTimeout as delay } from 'node:timers/promises';
import { type Servers, untilArrived, withContender } from './contenders/arena.ts';
import type { ContenderProcess } from './contenders/child.ts';
import { programOf } from './contenders/contenders.ts';
import type { MemorySample } from './contenders/protocol.ts';
import { announceTopic, fill } from './workload.ts';

export interface MemorySizes {
  /** Messages that wait beyond the horizon, and then as many that are ready. */
  readonly messages: number;
  /** How long the relay is watched while they wait. */
  readonly waitSeconds: number;
}

/** Of the relay's process: the most it held in a phase, and the live objects at its end. */
export interface MemoryFigures {
  readonly messages: number;
  readonly atStart: MemorySample;
  readonly waiting: MemorySample;
  /** While the first tenth is drained, and after that. */
  readonly drainingFirst: MemorySample;
  readonly drainingLater: MemorySample;
}

type Tell = (line: string) => void;

const setting = { lanes: 2 };
const lookEveryMs = 100;
/** Delivered before, so that its code is loaded. */
const warmUp = 1_000;
/** Of a drain: until then it is under way. */
const nearlyAll = 0.9;
const beyondHorizonMs = 3 * 24 * 3_600_000;
const drainedWithinMs = 300_000;

/** What a relay keeps in memory of many messages, which are stored by another process. */
export async function measureMemory(
  servers: Servers,
  node: string,
  { messages, waitSeconds }: MemorySizes,
  tell: Tell,
): Promise<MemoryFigures> {
  const { arrivals, database } = servers;
  const entry = { name: 'ours' as const, node, setting, program: ['--expose-gc', ...programOf('ours')] };
  return withContender(servers, entry, { noting: false }, async (relay, topic) => {
    const watched = async (what: string, over: () => Promise<boolean>): Promise<MemorySample> => {
      const most = await mostUntil(relay, over);
      tell(`memory of the relay, ${what}: ${most.rssMb} MB, ${most.heapMb} MB of live objects`);
      return most;
    };
    const target = await announceTopic(database, topic, { ...setting, timer: 'lane' });
    await relay.ask('start', null);
    await fill({ database }, target, { count: warmUp });
    await untilArrived(arrivals, topic, warmUp);
    const atStart = await watched('at its start', after(2));
    await fill({ database }, target, { count: messages, at: new Date(Date.now() + beyondHorizonMs) });
    const waiting = await watched(`with ${messages} waiting`, after(waitSeconds));
    await database.query('update outbox.topic set paused = true where name = $1', [topic]);
    await fill({ database }, target, { count: messages });
    await database.query('update outbox.topic set paused = false where name = $1', [topic]);
    const arrived = (share: number) => untilHas(servers, topic, warmUp + share * messages);
    const drainingFirst = await watched('while it drains the first tenth', arrived(0.1));
    const drainingLater = await watched(`while it drains the rest of ${messages}`, arrived(nearlyAll));
    await untilArrived(arrivals, topic, warmUp + messages);
    await relay.stop();
    await arrivals.read(topic, warmUp + messages);
    return { messages, atStart, waiting, drainingFirst, drainingLater };
  });
}

function after(seconds: number): () => Promise<boolean> {
  const until = performance.now() + seconds * 1_000;
  return () => Promise.resolve(performance.now() > until);
}

function untilHas({ arrivals }: Servers, topic: string, count: number): () => Promise<boolean> {
  const until = performance.now() + drainedWithinMs;
  return async () => {
    if (performance.now() > until) throw new Error(`${topic} has not ${count} messages in time.`);
    return (await arrivals.count(topic)) >= count;
  };
}

/**
 * The most it held until it is over, and what is live then: a collection makes the next ones smaller, so there is one for each
 * phase.
 */
export async function mostUntil(
  relay: ContenderProcess,
  over: () => Promise<boolean>,
): Promise<MemorySample> {
  let rssMb = 0;
  for (;;) {
    rssMb = Math.max(rssMb, (await relay.ask('memory', { collect: false })).rssMb);
    if (await over()) return { rssMb, heapMb: (await relay.ask('memory', { collect: true })).heapMb };
    await delay(lookEveryMs);
  }
}
