import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../dev/servers/process/free-port.ts';
import { fillTopic, makeEffectTable } from './consume-load.ts';
import { type Servers, withContender } from './contenders/arena.ts';
import type { MemorySample, Setting } from './contenders/protocol.ts';
import { mostUntil } from './memory.ts';
import { announceTopic, fill } from './workload.ts';

export interface OthersSizes {
  /** Messages that the consumer handles, and as many that the API lists. */
  readonly consumed: number;
  readonly requests: number;
}

/** The most that a process held, and its live objects after that: at its start, and at work. */
interface RestAndWork {
  readonly atStart: MemorySample;
  readonly working: MemorySample;
}

/** Of the processes beside a relay. */
export interface OthersFigures extends OthersSizes {
  readonly consumer: RestAndWork;
  readonly api: RestAndWork;
}

type Tell = (line: string) => void;

const atStartMs = 2_000;
const withinMs = 300_000;
const atOnce = 8;
/** A page of the API at its greatest. */
const paths = ['/status', '/messages?limit=200', '/kept?limit=200'];

/** What a consumer of Kafka and the HTTP API hold in memory, each in a process of its own. */
export async function measureOthers(
  servers: Servers,
  node: string,
  { consumed, requests }: OthersSizes,
  tell: Tell,
): Promise<OthersFigures> {
  await makeEffectTable(servers);
  const { topic } = await fillTopic(servers, consumed);
  const count = async (): Promise<number> => {
    const [row] = await servers.database.query<{ count: number }>(
      'select count(*)::integer as count from effect',
    );
    return row?.count ?? 0;
  };
  const handled = async (): Promise<void> => {
    const until = performance.now() + withinMs;
    while ((await count()) < consumed) {
      if (performance.now() > until) throw new Error(`The consumer has not handled ${consumed} in time.`);
      await delay(100);
    }
  };
  const consumer = await watched(servers, node, { kind: 'consumer', setting: { from: topic.name } }, handled);
  tell(`memory of a consumer: ${inWords(consumer)}`);
  const listed = await announceTopic(servers.database, `listed-${topic.name}`, {});
  await fill(servers, listed, { count: consumed });
  const port = await freePort();
  const ask = (): Promise<void> => askMany(`http://127.0.0.1:${port}`, requests);
  const api = await watched(servers, node, { kind: 'api', setting: { port } }, ask);
  tell(`memory of the API: ${inWords(api)}`);
  return { consumed, requests, consumer, api };
}

/** Starts a process, and watches it at rest and at work. */
async function watched(
  servers: Servers,
  node: string,
  { kind, setting }: { readonly kind: 'api' | 'consumer'; readonly setting: Setting },
  work: () => Promise<void>,
): Promise<RestAndWork> {
  const program = ['--expose-gc', resolve(import.meta.dirname, 'processes', 'main.js'), kind];
  const entry = { name: 'ours' as const, node, setting, program };
  return withContender(servers, entry, { noting: false }, async (child) => {
    const rested = performance.now() + atStartMs;
    const atStart = await mostUntil(child, async () => performance.now() > rested);
    await child.ask('start', null);
    let done = false;
    const worked = work().finally(() => {
      done = true;
    });
    const working = await mostUntil(child, async () => done);
    await worked;
    await child.stop();
    return { atStart, working };
  });
}

/** Several callers, each with its next request after its last answer. */
async function askMany(url: string, requests: number): Promise<void> {
  let left = requests;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const answer = await fetch(`${url}${paths[left % paths.length] ?? ''}`);
      if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}.`);
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
}

function inWords({ atStart, working }: RestAndWork): string {
  return `${atStart.rssMb} MB at its start, at most ${working.rssMb} MB at work, ${working.heapMb} MB of live objects`;
}
