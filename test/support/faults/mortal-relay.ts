import { rest } from '../../../src/core/rest.ts';
import type { Random } from '../fixtures/random.ts';
import type { RelayProcess } from '../processes/relay-process.ts';

/** From the start of a process to its kill, in milliseconds since the epoch. */
export interface Life {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How long a relay lives, from the start of its process. */
const livesMs = { least: 4_000, more: 10_000 };

/** A relay that is killed again and again, and started again at once. */
export interface MortalRelay {
  readonly lives: readonly Life[];
  /** Publishers that were killed. */
  readonly killed: readonly string[];
  /** Kills it no more. @returns the relay that lives on */
  spare(): Promise<RelayProcess>;
}

/** Starts a relay that lives for 4 to 14 s at a time. */
export function startMortalRelay(start: () => Promise<RelayProcess>, random: Random): MortalRelay {
  const lives: Life[] = [];
  const killed: string[] = [];
  const sparing = new AbortController();
  const run = async (): Promise<RelayProcess> => {
    for (;;) {
      const fromMs = Date.now();
      const relay = await start();
      await rest(fromMs + livesMs.least + random.below(livesMs.more) - Date.now(), sparing.signal);
      if (sparing.signal.aborted) {
        lives.push({ fromMs, toMs: Number.POSITIVE_INFINITY });
        return relay;
      }
      relay.signal('SIGKILL');
      await relay.exited;
      killed.push(relay.publisher);
      lives.push({ fromMs, toMs: Date.now() });
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    lives,
    killed,
    spare() {
      sparing.abort();
      return running;
    },
  };
}

/** A time in which nothing arrived, and how much of it some relay was alive that had been for `grownMs`. */
export interface Standstill {
  readonly atMs: number;
  readonly ms: number;
}

/** The longest time of all without an arrival, as far as relays lived that had been started `grownMs` before. */
export function longestStandstill(
  arrivalsMs: readonly number[],
  lives: readonly Life[],
  grownMs: number,
): Standstill {
  const grown = lives.map(({ fromMs, toMs }) => ({ fromMs: fromMs + grownMs, toMs }));
  return arrivalsMs.reduce<Standstill>(
    (longest, atMs, index) => {
      const before = arrivalsMs[index - 1];
      const ms = before === undefined ? 0 : covered(before, atMs, grown);
      return ms > longest.ms ? { atMs, ms } : longest;
    },
    { atMs: 0, ms: 0 },
  );
}

/** How much of a time at least one of these lives covers. */
function covered(fromMs: number, toMs: number, lives: readonly Life[]): number {
  let reached = fromMs;
  let sum = 0;
  for (const life of lives.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const start = Math.max(reached, life.fromMs);
    const end = Math.min(toMs, life.toMs);
    if (end <= start) continue;
    sum += end - start;
    reached = end;
  }
  return sum;
}
