import type { Source } from '../../brokers/source.ts';
import { causeIn } from '../../core/cause.ts';
import { OutboxError, type OutboxErrorCode } from '../../core/errors.ts';
import { patiently } from '../../core/patience.ts';
import { reasonOf } from '../../core/reason.ts';
import type { ConsumerReport } from '../../inbox/consumer-event.ts';
import { faultOf } from '../../inbox/handling/infrastructure-faults.ts';
import type { TransactionClient } from '../../inbox/transaction-client.ts';
import type { Transaction } from '../../store/database/transaction.ts';

/** Between reports of the same wait for a broker. */
const sayEveryMs = 5_000;
/** Error codes of sockets, which some clients pass on. */
const socket = /^E[A-Z_]{4,}$/;
/** Also in Prisma's word. */
const full = /^(?:53300|P2037)$/;
/** The server may answer, or give a connection, later. */
const passing: ReadonlySet<OutboxErrorCode> = new Set([
  'OUTBOX_CONNECTIONS_EXHAUSTED',
  'OUTBOX_SERVER_UNAVAILABLE',
]);
const refused = /^(?:P1000|P1003|P1010|28000|28P01|3D000)$/;

/**
 * The client of a consumer's start, which may come before the database has started, or while it restarts: each transaction
 * is retried until the server answers.
 *
 * @throws OutboxError (from a transaction) `OUTBOX_SERVER_UNAVAILABLE` after `withinMs`, `OUTBOX_SERVER_REFUSED`; the
 * reason of `stopping`
 */
export function patientClient<Tx extends Transaction>(
  client: TransactionClient<Tx>,
  withinMs: number,
  report: ConsumerReport,
  stopping: AbortSignal,
): TransactionClient<Tx> {
  return {
    $transaction: (work, options) =>
      patiently(
        () =>
          client.$transaction(work, options).catch((error: unknown) => {
            throw clientFailure(error) ?? error;
          }),
        {
          signal: stopping,
          withinMs,
          passing: (error) => error instanceof OutboxError && passing.has(error.code),
          waiting: (error) => report({ type: 'waiting-for-server', server: 'PostgreSQL', error }),
        },
      ),
  };
}

/** The source, which also reports while its broker cannot be reached at the start. */
export function tellingSource(source: Source, report: ConsumerReport): Source {
  let saidAt = Number.NEGATIVE_INFINITY;
  const say = (error: unknown): void => {
    if (performance.now() - saidAt < sayEveryMs) return;
    saidAt = performance.now();
    report({ type: 'waiting-for-server', server: source.name, error });
  };
  return {
    name: source.name,
    subscribe(subscription) {
      let joined = false;
      return source.subscribe({
        ...subscription,
        assigned(partitions) {
          joined = true;
          subscription.assigned(partitions);
        },
        disconnected(error, retryInMs) {
          if (!joined) say(error);
          subscription.disconnected(error, retryInMs);
        },
      });
    },
    async redeliveryPeriodMs(addresses) {
      try {
        return await source.redeliveryPeriodMs(addresses);
      } catch (error) {
        say(error);
        throw error;
      }
    },
  };
}

/** Names PostgreSQL in a client's error, which often says only that something could not be reached. */
function clientFailure(error: unknown): OutboxError | undefined {
  if (!(error instanceof Error) || error instanceof OutboxError) return undefined;
  const codes = codesIn(error);
  if (codes.some((one) => full.test(one))) return failed('OUTBOX_CONNECTIONS_EXHAUSTED', error);
  const code = codes.some((one) => refused.test(one))
    ? 'OUTBOX_SERVER_REFUSED'
    : (faultOf(error) === 'away' || codes.some((one) => socket.test(one))) && 'OUTBOX_SERVER_UNAVAILABLE';
  return code === false ? undefined : failed(code, error);
}

function failed(code: OutboxErrorCode, error: Error): OutboxError {
  const said = causeIn(reasonOf(error));
  return new OutboxError(code, `The consumer's client cannot use PostgreSQL: ${said.replace(/\.$/, '')}.`, {
    details: { server: 'PostgreSQL' },
    cause: error,
  });
}

/** Prisma puts the server's error into its metadata, others into the cause. */
function codesIn(error: unknown): readonly string[] {
  if (typeof error !== 'object' || error === null) return [];
  const own = ['code', 'originalCode'].flatMap((name) =>
    name in error ? [String(Reflect.get(error, name))] : [],
  );
  const inner = ['meta', 'driverAdapterError', 'cause', 'driverError'].flatMap((name) =>
    name in error ? codesIn(Reflect.get(error, name)) : [],
  );
  return [...own, ...inner];
}
