import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../src/store/database/database.ts';
import { warmUpShare } from '../workload.ts';
import type { Arrivals } from './arrivals.ts';
import { ContenderProcess } from './child.ts';
import { type ContenderName, programOf } from './contenders.ts';
import { type ProcessorTimes, processorTimes, type ServerPids } from './processor-time.ts';
import type { ContenderInput, CpuSample, OpenLoop, Percentiles, Setting } from './protocol.ts';
import { percentiles } from './serve.ts';
import { lateness } from './validity.ts';

const lookEveryMs = 100;
const drainedWithinMs = 120_000;
/** From when Kafka has the last message until the contender knows. */
const answeredWithinMs = 30_000;
/** Delivered before, so that no code is loaded and no connection opened when the others are due. */
const dueWarmUp = 2_000;
/** Storing ten thousand messages must be over when they are due. */
const dueAfterMs = 8_000;

/** The servers of all contenders. */
export interface Servers extends Omit<ContenderInput, 'topic' | 'noting' | 'delivers' | 'setting'> {
  readonly database: Database;
  readonly arrivals: Arrivals;
  readonly pids: ServerPids;
}

/** Who runs, on which Node. */
export interface Entry {
  readonly name: ContenderName;
  /** The program of Node. */
  readonly node: string;
  readonly setting: Setting;
  /** Arguments of Node. @defaultValue the program of the contender */
  readonly program?: readonly string[];
}

/** A drain, from the end of its warm-up to the last message. */
export interface DrainFigures {
  readonly perSecond: number;
  /** Microseconds of the contender's node process for each message. */
  readonly nodeUsPerMessage: number;
  /** The same of each server, over the whole drain. */
  readonly serverUsPerMessage: Readonly<Record<string, number>>;
}

/** @throws Error unless Kafka has every message exactly once */
export async function drain(servers: Servers, entry: Entry, count: number): Promise<DrainFigures> {
  return withContender(servers, entry, { noting: false }, async (contender, topic) => {
    await contender.ask('fill', { count });
    // Statistics and visibility as after a while, and no checkpoint in the middle that one filled and another pays for.
    await servers.database.query('vacuum (analyze)');
    await servers.database.query('checkpoint');
    const before = processorTimes(servers.pids);
    await contender.ask('start', null);
    await untilArrived(servers.arrivals, topic, count);
    const samples = await contender.ask('cpu', null);
    const after = processorTimes(servers.pids);
    await contender.stop();
    return figuresOf(await servers.arrivals.read(topic, count), samples, { before, after });
  });
}

/** The same by several processes at once, each with a topic of its own, which share the messages. */
export async function drainTogether(
  servers: Servers,
  entry: Entry,
  processes: number,
  count: number,
): Promise<DrainFigures> {
  const { arrivals, database, pids } = servers;
  const share = Math.floor(count / processes);
  const runs: { readonly contender: ContenderProcess; readonly topic: string }[] = [];
  try {
    for (let n = 0; n < processes; n += 1) {
      const topic = await arrivals.createTopic(entry.name);
      const contender = await openContender(servers, entry, { topic });
      runs.push({ contender, topic });
      await contender.ask('fill', { count: share });
    }
    await database.query('vacuum (analyze)');
    await database.query('checkpoint');
    const before = processorTimes(pids);
    await Promise.all(runs.map(({ contender }) => contender.ask('start', null)));
    await Promise.all(runs.map(({ topic }) => untilArrived(arrivals, topic, share)));
    const samples = await Promise.all(runs.map(({ contender }) => contender.ask('cpu', null)));
    const after = processorTimes(pids);
    const each: DrainFigures[] = [];
    for (const [index, { contender, topic }] of runs.entries()) {
      await contender.stop();
      each.push(figuresOf(await arrivals.read(topic, share), samples[index] ?? [], { before, after }));
    }
    const mean = (of: (figures: DrainFigures) => number): number =>
      round(each.reduce((sum, figures) => sum + of(figures), 0) / processes);
    return {
      perSecond: Math.round(processes * mean(({ perSecond }) => perSecond)),
      nodeUsPerMessage: mean(({ nodeUsPerMessage }) => nodeUsPerMessage),
      serverUsPerMessage: {},
    };
  } finally {
    for (const { contender, topic } of runs) {
      contender.kill();
      await arrivals.deleteTopic(topic);
    }
  }
}

/**
 * From commit to Kafka's acknowledgement, of messages that another process sends. @throws Error unless Kafka has every message
 * exactly once
 */
export async function commitToKafka(servers: Servers, entry: Entry, loop: OpenLoop): Promise<Percentiles> {
  const count = loop.perSecond * (loop.seconds + loop.warmUpSeconds);
  return withContender(servers, entry, { noting: true }, async (contender, topic) => {
    const sender = await openContender(servers, entry, { topic, delivers: false });
    try {
      await contender.ask('start', null);
      const stored = await sender.ask('send', loop);
      await untilArrived(servers.arrivals, topic, count);
      const acknowledgedAt = await acknowledgements(contender, count);
      await contender.stop();
      await servers.arrivals.read(topic, count);
      return percentiles(
        stored.map(({ committedAtMs, id }) => (acknowledgedAt.get(id) ?? Number.NaN) - committedAtMs),
      );
    } finally {
      sender.kill();
    }
  });
}

/** Of messages that Kafka has; its answers may still be on their way. @throws Error if one stays out for too long */
async function acknowledgements(
  contender: ContenderProcess,
  count: number,
): Promise<ReadonlyMap<string, number>> {
  const until = performance.now() + answeredWithinMs;
  for (;;) {
    const acknowledgedAt = new Map(await contender.ask('acknowledged', null));
    if (acknowledgedAt.size >= count) return acknowledgedAt;
    if (performance.now() > until)
      throw new Error(`Of ${count} messages only ${acknowledgedAt.size} were acknowledged.`);
    await delay(lookEveryMs);
  }
}

/** Lateness of messages that are all due at the same instant. @throws Error if one is early, or is not there exactly once */
export async function dueTogether(servers: Servers, entry: Entry, count: number): Promise<Percentiles> {
  return withContender(servers, entry, { noting: false }, async (contender, topic) => {
    await contender.ask('start', null);
    await contender.ask('fill', { count: dueWarmUp });
    await untilArrived(servers.arrivals, topic, dueWarmUp);
    const dueAtMs = Math.ceil((Date.now() + dueAfterMs) / 1_000) * 1_000;
    await contender.ask('fill', { count, dueAtMs });
    if (Date.now() >= dueAtMs) throw new Error('Storing took longer than the messages were to wait.');
    await untilArrived(servers.arrivals, topic, dueWarmUp + count);
    await contender.stop();
    const appended = await servers.arrivals.read(topic, dueWarmUp + count);
    return percentiles(lateness(entry.name, appended.slice(dueWarmUp), dueAtMs));
  });
}

/** Runs `work` with an opened contender and its topic, which end with it. */
export async function withContender<T>(
  servers: Servers,
  entry: Entry,
  { noting }: Pick<ContenderInput, 'noting'>,
  work: (contender: ContenderProcess, topic: string) => Promise<T>,
): Promise<T> {
  const { arrivals } = servers;
  const topic = await arrivals.createTopic(entry.name);
  let contender: ContenderProcess | undefined;
  try {
    contender = await openContender(servers, entry, { topic, noting });
    return await work(contender, topic);
  } finally {
    contender?.kill();
    await arrivals.deleteTopic(topic);
  }
}

/** A process that is ready to be filled and started; the caller kills it. */
export async function openContender(
  { brokers, databaseUrl, redisUrl, temporalAddress }: Servers,
  { name, node, setting, program = programOf(name) }: Entry,
  {
    delivers = true,
    noting = false,
    topic,
  }: Pick<ContenderInput, 'topic'> & Partial<Pick<ContenderInput, 'noting' | 'delivers'>>,
): Promise<ContenderProcess> {
  const contender = new ContenderProcess(program, node);
  try {
    const servers = { brokers, databaseUrl, redisUrl, temporalAddress };
    await contender.ask('open', { ...servers, topic, noting, delivers, setting });
    return contender;
  } catch (error) {
    contender.kill();
    throw error;
  }
}

/** @throws Error if a topic has less than `count` messages for too long */
export async function untilArrived(arrivals: Arrivals, topic: string, count: number): Promise<void> {
  const until = performance.now() + drainedWithinMs;
  // A broker may not know a topic yet that was made a moment ago.
  for (let arrived = 0; arrived < count; arrived = await arrivals.count(topic).catch(() => 0)) {
    if (performance.now() > until)
      throw new Error(`${topic} has ${arrived} of ${count} messages after ${drainedWithinMs} ms.`);
    await delay(lookEveryMs);
  }
}

function figuresOf(
  appended: readonly number[],
  samples: readonly CpuSample[],
  { after, before }: { readonly before: ProcessorTimes; readonly after: ProcessorTimes },
): DrainFigures {
  const count = appended.length;
  const warm = appended[Math.floor(warmUpShare * count)] ?? 0;
  const last = appended.at(-1) ?? 0;
  // Those appended in the same millisecond as the first that counts are a part of the warm-up.
  const counted = appended.filter((at) => at > warm).length;
  const nodeMs = cpuAt(samples, last) - cpuAt(samples, warm);
  const servers = Object.entries(after).map(
    ([name, ms]) => [name, round(((ms - (before[name] ?? 0)) * 1_000) / count)] as const,
  );
  return {
    perSecond: Math.round((counted * 1_000) / (last - warm)),
    nodeUsPerMessage: round((nodeMs * 1_000) / counted),
    serverUsPerMessage: Object.fromEntries(servers),
  };
}

/** Between two samples it is interpolated. */
function cpuAt(samples: readonly CpuSample[], atMs: number): number {
  const next = samples.find((sample) => sample.atMs >= atMs) ?? samples.at(-1);
  const previous = samples.findLast((sample) => sample.atMs < atMs) ?? samples[0];
  if (next === undefined || previous === undefined) return 0;
  if (next.atMs <= previous.atMs) return next.cpuMs;
  const share = Math.min(1, (atMs - previous.atMs) / (next.atMs - previous.atMs));
  return previous.cpuMs + share * (next.cpuMs - previous.cpuMs);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
