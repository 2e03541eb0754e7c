/** The figures that the demo counts in the database and in Kafka's log. */
export interface Figures {
  /** True if all planned faults happened and no problem was found. */
  readonly ok: boolean;
  /** Messages whose transaction committed. */
  readonly committed: number;
  /** How many of them are in Kafka, each counted once. The others were canceled in time. */
  readonly published: number;
  /** Effects that the consumer committed. */
  readonly effects: number;
  /** Orders that were paid. */
  readonly paid: number;
  /** Orders that were canceled because they were not paid in time. */
  readonly canceled: number;
  /** Relays killed while messages were in progress. */
  readonly relayKills: number;
  /** Brokers that were down while messages waited. */
  readonly brokerStops: number;
  /** Attempts that were not acknowledged. */
  readonly attemptsBurned: number;
  /** Duplicate records in Kafka that the inbox dropped; `ok` requires that it dropped all of them. */
  readonly duplicatesDropped: number;
  /** Committed, not canceled, and not in Kafka. */
  readonly lost: number;
  /** In Kafka, but rolled back or canceled. */
  readonly ghosts: number;
  /** In Kafka before they were due. */
  readonly early: number;
  /** In Kafka after a later message of their key. */
  readonly outOfOrder: number;
}

/** The figures with labels, one per line. */
export function figureLines(figures: Figures): readonly string[] {
  const rows: readonly (readonly [string, number])[] = [
    ['messages committed', figures.committed],
    ['  canceled before they were due', figures.committed - figures.published],
    ['  published to Kafka', figures.published],
    ['effects of the consumer', figures.effects],
    ['orders paid', figures.paid],
    ['orders canceled, as nobody paid', figures.canceled],
    ['relays killed in mid-work', figures.relayKills],
    ['brokers stopped', figures.brokerStops],
    ['duplicates in Kafka, dropped by the inbox', figures.duplicatesDropped],
    ['attempts burned', figures.attemptsBurned],
    ['messages lost', figures.lost],
    ['messages that should not be there', figures.ghosts],
    ['messages that came too early', figures.early],
    ['messages out of order', figures.outOfOrder],
  ];
  const width = Math.max(...rows.map(([meaning]) => meaning.length)) + 3;
  return rows.map(([meaning, value]) => `   ${meaning.padEnd(width, ' ')}${String(value).padStart(6)}`);
}
