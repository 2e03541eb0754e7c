import { setTimeout as delay } from 'node:timers/promises';
import type {
  Calls,
  Contender,
  ContenderInput,
  CpuSample,
  MemorySample,
  Open,
  OpenLoop,
  Percentiles,
  Reply,
  Request,
  Stored,
} from './protocol.ts';

const sampleEveryMs = 25;

/** Lets the parent process use a contender, until it stops it or goes away. */
export function serve(open: Open): void {
  const served = new Served(open);
  process.on('message', (request: Request) => {
    served.carryOut(request).then(
      (answer) => reply({ answer: answer ?? null }),
      (error: unknown) =>
        reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.once('disconnect', () => {
    process.exitCode = 1;
    // Whatever still runs: nobody waits for it.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 1_000).unref();
  });
}

function reply(answer: Reply): void {
  process.send?.(answer);
}

class Served {
  readonly #open: Open;
  readonly #acknowledgedAt = new Map<string, number>();
  readonly #samples: CpuSample[] = [];
  #contender: Contender | undefined;
  #sampling: NodeJS.Timeout | undefined;

  constructor(open: Open) {
    this.#open = open;
  }

  async carryOut({ call, with: taken }: Request): Promise<unknown> {
    switch (call) {
      case 'open':
        this.#contender = await this.#open(taken as ContenderInput, (ids) => this.#note(ids));
        return null;
      case 'fill': {
        const { count, dueAtMs } = taken as Calls['fill']['takes'];
        return this.#opened().fill(count, dueAtMs);
      }
      case 'start':
        this.#sample();
        this.#sampling = setInterval(() => this.#sample(), sampleEveryMs);
        return this.#opened().start();
      case 'cpu':
        this.#sample();
        return this.#samples;
      case 'memory':
        return memory(taken as Calls['memory']['takes']);
      case 'send':
        return this.#send(taken as OpenLoop);
      case 'acknowledged':
        return [...this.#acknowledgedAt];
      case 'stop':
        clearInterval(this.#sampling);
        await this.#opened().stop();
        // Nothing may keep the process alive now.
        setImmediate(() => process.disconnect());
        return null;
      default:
        throw new Error('The benchmark asks for something unknown.');
    }
  }

  #opened(): Contender {
    if (this.#contender === undefined) throw new Error('The contender was not opened.');
    return this.#contender;
  }

  #note(ids: Iterable<string>): void {
    const now = machineClock();
    for (const id of ids) if (!this.#acknowledgedAt.has(id)) this.#acknowledgedAt.set(id, now);
  }

  #sample(): void {
    const { system, user } = process.cpuUsage();
    this.#samples.push({ atMs: wallClock(), cpuMs: (system + user) / 1_000 });
  }

  async #send({ perSecond, seconds, warmUpSeconds }: OpenLoop): Promise<readonly Stored[]> {
    const contender = this.#opened();
    if (contender.sendOne === undefined) throw new Error('The contender sends no single messages.');
    const noted: Promise<Stored>[] = [];
    const startedAt = performance.now();
    for (let index = 0; index < (warmUpSeconds + seconds) * perSecond; index += 1) {
      const behindMs = performance.now() - startedAt - (index * 1_000) / perSecond;
      if (behindMs < 0) await delay(-behindMs);
      // Not awaited: a slow one must not slow down what follows it.
      const stored = contender.sendOne(index);
      stored.catch(() => undefined);
      if (index >= warmUpSeconds * perSecond) noted.push(stored);
    }
    return Promise.all(noted);
  }
}

function memory({ collect }: Calls['memory']['takes']): MemorySample {
  if (collect) {
    if (globalThis.gc === undefined) throw new Error('The contender was started without --expose-gc.');
    globalThis.gc();
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { rssMb: Math.round(rss / 1e6), heapMb: Math.round(heapUsed / 1e6) };
}

/** Milliseconds with a fraction, on the same scale in all processes of the machine. */
export function machineClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Milliseconds since 1970 with a fraction, on the same scale throughout this process. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99) };
}
