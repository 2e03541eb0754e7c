import type { TidiedGroup, Tidying } from '../../capabilities.ts';
import type { RedisClient } from '../client/open-client.ts';
import { leaseKeyOf, membersKeyOf } from './group-names.ts';
import { tidyScript } from './tidy-script.ts';

type Answer = readonly [
  verdict: TidiedGroup['verdict'],
  open: number,
  consumers: number,
  goneConsumers: number,
  quietMs: number,
];

/** Judges a group, and removes what may go: see {@link tidyScript}. */
export async function tidyGroup(
  client: RedisClient,
  { act, address, group, unusedForMs }: Tidying & { readonly address: string; readonly group: string },
): Promise<TidiedGroup> {
  const [verdict, open, consumers, goneConsumers, quietMs] = await client.sendCommand<Answer>([
    'EVAL',
    tidyScript,
    '3',
    address,
    leaseKeyOf(address, group),
    membersKeyOf(address, group),
    group,
    String(unusedForMs),
    act,
  ]);
  return { group, verdict, open, consumers, goneConsumers, quietMs: quietMs < 0 ? null : quietMs };
}
