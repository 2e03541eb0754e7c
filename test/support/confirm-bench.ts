import { randomUUID } from 'node:crypto';
import { writeReceipt, type Receipt } from '../../src/core/receipt.ts';
import type { TopicOptions } from '../../src/core/topic.ts';
import { Overdue } from '../../src/relay/overdue.ts';
import { ReceiptIntake } from '../../src/relay/receipts.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { type LaneBench, laneBench } from './lane-bench.ts';

/** What a message says about its confirmation. */
export interface ConfirmRow {
  readonly state: string;
  readonly sends: number;
  readonly partition: number | null;
  readonly offset: string | null;
  readonly published: boolean;
  readonly maybePublished: boolean;
  /** Seconds from the last change until the receipt is overdue. */
  readonly withinS: number | null;
  readonly lastError: string | null;
}

/** A lane bench whose topic asks the group `shop` for receipts, with the relay's part of confirmation beside it. */
export class ConfirmBench {
  readonly lanes: LaneBench;
  readonly events: RelayEvent[] = [];
  /** What the group has committed in partition 0, the only one of the scripted broker; `undefined`: nothing. */
  passed: string | undefined;
  readonly #intake: ReceiptIntake;
  readonly #makeOverdue: () => Overdue;
  readonly #overdue: Overdue;

  constructor(lanes: LaneBench, installation: string) {
    this.lanes = lanes;
    const { database, rules, topic } = lanes;
    const report = (event: RelayEvent): void => void this.events.push(event);
    this.#intake = new ReceiptIntake({ database, installation, report });
    const confirm = rules.confirm;
    if (confirm === undefined) throw new Error('The topic of this bench asks for no receipts.');
    const passed = async (): Promise<ReadonlyMap<number, string>> =>
      this.passed === undefined ? new Map() : new Map([[0, this.passed]]);
    this.#makeOverdue = () =>
      new Overdue(database, [{ name: topic, address: rules.address, confirm, offsets: { passed } }], report);
    this.#overdue = this.#makeOverdue();
  }

  /** Offers a receipt of the group `shop` to the relay. */
  async receipt(labels: readonly string[], overrides: Partial<Receipt> = {}): Promise<boolean> {
    const ids = labels.map((label) => this.lanes.idOf(label));
    return this.offer(
      writeReceipt({ group: 'shop', installation: undefined, state: 'processed', ids, ...overrides }),
    );
  }

  offer(body: string): Promise<boolean> {
    return this.#intake.apply(new TextEncoder().encode(body), new AbortController().signal);
  }

  /** Sends messages of one key and publishes them. */
  async publish(key: string, ...labels: readonly string[]): Promise<void> {
    for (const label of labels) await this.lanes.send(label, { key });
    await this.lanes.drain();
  }

  /** Makes receipts overdue, in the order of the labels. */
  async expire(...labels: readonly string[]): Promise<void> {
    for (const [n, label] of labels.entries()) {
      await this.lanes.database.query(
        `update outbox.message set confirm_by = outbox.clock() - interval '1 minute' + $2 * interval '1 ms' where id = $1`,
        [this.lanes.idOf(label), n],
      );
    }
  }

  /** One round of the relay over overdue messages. */
  overdue(): Promise<void> {
    return this.#overdue.check();
  }

  /** The same round by another relay. */
  secondRelay(): Promise<void> {
    return this.#makeOverdue().check();
  }

  async row(label: string): Promise<ConfirmRow> {
    const [row] = await this.lanes.database.query<ConfirmRow>(
      `select state::text, sends, partition, "offset", published_at is not null as published,
         maybe_published as "maybePublished", last_error as "lastError",
         extract(epoch from confirm_by - updated_at)::float8 as "withinS"
       from outbox.message_view where id = $1`,
      [this.lanes.idOf(label)],
    );
    if (row === undefined) throw new Error(`"${label}" has no row.`);
    return row;
  }
}

export async function confirmBench(options: TopicOptions = {}): Promise<ConfirmBench> {
  const lanes = await laneBench({
    confirm: { group: 'shop', within: '10s', resend: ['20s', '30s'], maxSends: 3 },
    ...options,
  });
  return new ConfirmBench(lanes, await readInstallation(lanes.database));
}

/** An installation that is not this one. */
export const elsewhere = randomUUID();
