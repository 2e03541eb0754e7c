import { causeIn } from '../core/cause.ts';
import type { ConsumerEvent, ConsumerReport } from '../inbox/consumer-event.ts';
import type { RelayEvent, Report } from '../relay/report.ts';

/** The same trouble is told again after this time, with how often it was met meanwhile. */
const againMs = 5_000;
/** Kinds of trouble that are remembered; texts may differ from message to message. */
const maxKinds = 1_000;

const relayTroubles: ReadonlySet<RelayEvent['type']> = new Set([
  'error',
  'hold-began',
  'lane-lost',
  'messages-unconfirmed',
  'receipt-unreadable',
  'waiting-for-server',
]);

/** What goes well, and what others tell as well. */
const consumerNews: ReadonlySet<ConsumerEvent['type']> = new Set([
  'assigned',
  'bulk-ended',
  'duplicate',
  'handled',
  'ignored',
  'partition-resumed',
]);

/** The report of a relay for which nobody gave another: each trouble is one line. */
export function relayTroubleLines(write: (line: string) => void = toStandardError): Report {
  const line = withoutRepeats(write);
  return (event) => {
    if (relayTroubles.has(event.type)) line(`temporal-outbox relay ${inWords(event)}`);
  };
}

/** The report of a consumer for which nobody gave another: each trouble is one line. */
export function consumerTroubleLines(
  group: string,
  write: (line: string) => void = toStandardError,
): ConsumerReport {
  const line = withoutRepeats(write);
  return (event) => {
    if (!consumerNews.has(event.type)) line(`temporal-outbox consumer ${group} ${inWords(event)}`);
  };
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** What to do about troubles that carry no error, which would say it. */
function advice(event: RelayEvent | ConsumerEvent): string {
  return event.type === 'pool-small'
    ? `: give the consumer a client of its own, by new PrismaPg({ connectionString, max: ${event.needed} }), or lower its concurrency, keyConcurrency or parkedConcurrency`
    : '';
}

function inWords(event: RelayEvent | ConsumerEvent): string {
  const { type, ...facts } = event;
  const error = 'error' in facts && facts.error !== null ? `: ${errorInWords(facts.error)}` : '';
  const others = Object.entries(facts)
    .filter(([name]) => name !== 'error')
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [type, ...others].join(' ') + error + advice(event);
}

function errorInWords(error: unknown): string {
  return causeIn(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

/** Lines with their time. What differs in figures only counts as the same trouble. */
function withoutRepeats(write: (line: string) => void): (text: string) => void {
  const told = new Map<string, { at: number; more: number }>();
  return (text) => {
    const kind = text.replaceAll(/\d+/g, '#');
    const before = told.get(kind);
    const now = performance.now();
    if (before !== undefined && now - before.at < againMs) {
      before.more += 1;
      return;
    }
    if (told.size >= maxKinds) told.clear();
    told.set(kind, { at: now, more: 0 });
    const more = before === undefined || before.more === 0 ? '' : ` (and ${before.more} more like it)`;
    write(`${new Date().toISOString()} ${text}${more}`);
  };
}
