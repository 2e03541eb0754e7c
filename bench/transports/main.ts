import { measureHttp } from './http.ts';
import { measureRabbitmq } from './rabbitmq.ts';
import { measureRedis } from './redis.ts';
import { measureRocketmq } from './rocketmq.ts';
import type { Rates, TransportFigures, TransportSizes } from './transport-figures.ts';
import { measureWorkflow } from './workflow.ts';

const measures: Readonly<Record<string, (sizes: TransportSizes) => Promise<readonly TransportFigures[]>>> = {
  rabbitmq: measureRabbitmq,
  http: measureHttp,
  redis: measureRedis,
  rocketmq: measureRocketmq,
  workflow: measureWorkflow,
};

/** Measures all transports, or one of them. @throws Error for an unknown one */
export async function benchTransports(
  only: string | undefined,
  sizes: TransportSizes,
): Promise<readonly TransportFigures[]> {
  const names = Object.keys(measures);
  if (only !== undefined && !names.includes(only))
    throw new Error(`There is no benchmark "${only}", only ${names.join(', ')}.`);
  const figures: TransportFigures[] = [];
  for (const [name, measure] of Object.entries(measures))
    if (only === undefined || name === only) figures.push(...(await measure(sizes)));
  return figures;
}

/** The figures as human-readable lines. */
export function showTransports(figures: readonly TransportFigures[]): string {
  const rates = (what: string, { ours, bare }: Rates): string =>
    `${what.padEnd(32)}${ours} messages/s (bare client ${bare}, ours: ${(ours / bare).toFixed(2)} of it)`;
  return figures
    .flatMap(({ name, sent, received }) => [
      rates(`${name}, sent`, sent),
      ...(received === undefined ? [] : [rates(`${name}, received`, received)]),
    ])
    .join('\n');
}
