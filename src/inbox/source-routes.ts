import type { Source } from '../brokers/source.ts';
import type { Transaction } from '../store/database/transaction.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { ConsumerPlan } from './consumer-plan.ts';
import { Receipts } from './handling/receipts.ts';
import { DeadLetters } from './parked/dead-letters.ts';
import type { Route } from './route.ts';
import { RouteTable } from './route-table.ts';

/** The topics that arrive from one broker. */
export interface SourceRoutes<Tx> {
  /** Name of the source, with a number appended from the second one of that name on. */
  readonly name: string;
  readonly source: Source;
  readonly routes: readonly Route<Tx>[];
  readonly lookup: RouteTable<Tx>;
  readonly receipts: Receipts | undefined;
  readonly deadLetters: Pick<DeadLetters, 'nudge' | 'stop'> | undefined;
}

/** The topics of a consumer, by the broker that they arrive from. */
export function sourceRoutesOf<Tx extends Transaction>(
  { deadLetterSenderOf, receiptSenderOf, routes, rules, sourceOf, topics, client }: ConsumerPlan<Tx>,
  report: ConsumerReport,
): readonly SourceRoutes<Tx>[] {
  const bySource = new Map<Source, Route<Tx>[]>();
  for (const route of routes) {
    const source = sourceOf(route.topic);
    bySource.set(source, [...(bySource.get(source) ?? []), route]);
  }
  return [...bySource].map(([source, theirs], n, all) => {
    const before = all.slice(0, n).filter(([other]) => other.name === source.name).length;
    const { group, deadAddressOf } = rules;
    const confirming = theirs.find(({ topic }) => topic.rules.confirm?.group === group);
    return {
      name: before === 0 ? source.name : `${source.name} ${before + 1}`,
      source,
      routes: theirs,
      lookup: new RouteTable(theirs, topics, rules.unknown),
      receipts: confirming && new Receipts({ group, sender: receiptSenderOf(confirming.topic), report }),
      deadLetters:
        deadAddressOf &&
        new DeadLetters({
          client,
          group,
          addresses: addressesOf(theirs),
          deadAddressOf,
          sender: deadLetterSenderOf(theirs.map(({ topic }) => topic)),
          report,
        }),
    };
  });
}

/** Where the messages of these topics arrive. */
export function addressesOf<Tx>(routes: readonly Route<Tx>[]): readonly string[] {
  return [...new Set(routes.map(({ topic }) => topic.rules.address))];
}

/** To be called when a message of unknown source has failed. */
export function nudgeDeadLetters<Tx>(sourceRoutes: readonly SourceRoutes<Tx>[]): void {
  for (const { deadLetters } of sourceRoutes) deadLetters?.nudge();
}
