import { loadApi } from '../src/telemetry/api.ts';
import { countStored } from '../src/telemetry/sender-metrics.ts';
import { drain, type Servers } from './contenders/arena.ts';
import { overall } from './workload.ts';

export interface MeteredSizes {
  readonly rounds: number;
  /** Messages of a drain. */
  readonly messages: number;
}

/** What metrics cost. */
export interface MeteredFigures {
  /** Messages per second to Kafka without a provider of metrics, and with one that is scraped. */
  readonly plain: number;
  readonly metered: number;
  /** Node's processor time of a message. */
  readonly plainUs: number;
  readonly meteredUs: number;
  /** Nanoseconds that `send` takes longer without a provider of metrics. */
  readonly sendNs: number;
}

type Tell = (line: string) => void;

const calls = 1_000_000;

/** Drains the same backlog without metrics and with them, in turns. */
export async function measureMetered(
  servers: Servers,
  node: string,
  { messages, rounds }: MeteredSizes,
  tell: Tell,
): Promise<MeteredFigures> {
  const rates = { plain: [] as number[], metered: [] as number[] };
  const processor = { plain: [] as number[], metered: [] as number[] };
  for (let round = 0; round <= rounds; round += 1)
    for (const kind of round % 2 === 0 ? (['metered', 'plain'] as const) : (['plain', 'metered'] as const)) {
      const setting = { lanes: 2, ...(kind === 'metered' && { metrics: 1 }) };
      const { nodeUsPerMessage, perSecond } = await drain(servers, { name: 'ours', node, setting }, messages);
      // The first round warms up the servers.
      if (round === 0) continue;
      rates[kind].push(perSecond);
      processor[kind].push(nodeUsPerMessage);
      tell(`${kind}, round ${round}: ${perSecond}/s, ${nodeUsPerMessage} µs of node a message`);
    }
  return {
    plain: overall(rates.plain),
    metered: overall(rates.metered),
    plainUs: mean(processor.plain),
    meteredUs: mean(processor.metered),
    sendNs: await sendNs(),
  };
}

function mean(values: readonly number[]): number {
  return Math.round((values.reduce((sum, value) => sum + value, 0) / values.length) * 100) / 100;
}

/** Of the call that counts: in this process no provider is set up. */
async function sendNs(): Promise<number> {
  await loadApi();
  const startedAt = performance.now();
  for (let n = 0; n < calls; n += 1) countStored('orders', 1);
  return Math.round(((performance.now() - startedAt) * 1_000_000) / calls);
}
