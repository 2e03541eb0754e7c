import { setTimeout as delay } from 'node:timers/promises';
import { passCrashPoint } from '../core/crash-point.ts';
import { OutboxError } from '../core/errors.ts';
import { installationOf } from '../core/receipt.ts';
import {
  beginTry,
  type BegunTry,
  endTry,
  type FailAnswer,
  failTry,
  joinTry,
  type TryRules,
} from '../store/inbox/tries.ts';
import { sqlOf, type Transaction } from '../store/transaction.ts';
import { Arrived, identify } from './arrived.ts';
import type { Tally } from './consumer-counts.ts';
import type { ConsumerReport } from './consumer-event.ts';
import { arrivedAgain, errorText } from './kept.ts';
import type { DrainKeyAnswer, KeyDrains } from './ports.ts';
import type { Receipts } from './receipts.ts';
import type { Routes } from './routes.ts';
import type { TransactionClient } from './transaction-client.ts';
import { type RefusalReason, refusalReasonOf } from './unreadable.ts';

export interface KeyDrainOptions<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly group: string;
  /** Of every source: a parked message does not tell from where it came. */
  readonly routes: readonly Routes<Tx>[];
  readonly rules: TryRules;
  /** For how long one of its transactions may be silent. */
  readonly idleMs: number;
  readonly tally: Tally;
  readonly report: ConsumerReport;
  readonly receiptsOf: (routes: Routes<Tx>) => Receipts | undefined;
  /** Called when a message was given up. */
  readonly onFailed: () => void;
}

/** The handler of a message that was parked, and where its receipts go. */
interface Found<Tx> {
  readonly arrived: Arrived<Tx>;
  readonly routes: Routes<Tx>;
}

/** Somebody adds to the key, or an operator has it: that takes milliseconds. */
const busyPauseMs = 100;
const longestBusyMs = 2_000;

/**
 * Works off the queue of a parked key: its messages in order, each in one transaction with its effects.
 *
 * A try counts when it begins. So a message that ends its process is not tried at once by the next one, and is given up
 * like any other that fails.
 */
export class KeyDrain<Tx extends Transaction> implements KeyDrains {
  readonly #options: KeyDrainOptions<Tx>;

  constructor(options: KeyDrainOptions<Tx>) {
    this.#options = options;
  }

  async drain(keyId: string, signal: AbortSignal, progress: () => void): Promise<DrainKeyAnswer> {
    let busySince: number | undefined;
    while (!signal.aborted) {
      progress();
      const begun = await this.#options.client.$transaction((tx) =>
        beginTry(sqlOf(tx), keyId, this.#options.rules),
      );
      if (begun.kind === 'busy') {
        busySince ??= performance.now();
        if (performance.now() - busySince > longestBusyMs) return { kind: 'waiting', inMs: 1_000 };
        await delay(busyPauseMs, undefined, { signal }).catch(() => undefined);
        continue;
      }
      busySince = undefined;
      if (begun.kind === 'wait') return { kind: 'waiting', inMs: begun.inMs };
      if (begun.kind === 'try') {
        const answer = await this.#try(keyId, begun.message);
        if (answer !== undefined) return answer;
        continue;
      }
      if (begun.gaveUp !== null) this.#gaveUp(begun.gaveUp, 'killed', undefined);
      if (begun.kind === 'gone') return { kind: 'drained' };
      if (begun.kind === 'held') return { kind: 'held' };
    }
    return { kind: 'waiting', inMs: 0 };
  }

  /** @returns what ends the drain, or `undefined`: the next message may be tried */
  async #try(keyId: string, message: BegunTry): Promise<DrainKeyAnswer | undefined> {
    passCrashPoint('inbox:try-begun');
    const { report, tally } = this.#options;
    const found = this.#find(message);
    const { topic, address, partition, offset } = message;
    const identified = { id: message.id, topic, address, partition, offset };
    try {
      const ended = await this.#apply(keyId, message, found);
      passCrashPoint('inbox:try-committed');
      if (ended === 'left') return { kind: 'waiting', inMs: 0 };
      tally.processed += 1;
      report({ type: 'handled', ...identified, attempt: message.attempts });
      await this.#answer(message, found);
      return ended === 'gone' ? { kind: 'drained' } : undefined;
    } catch (error) {
      tally.failures += 1;
      report({ type: 'failed', address, partition, offset, attempt: message.attempts, error });
      passCrashPoint('inbox:try-failed');
      return this.#failed(message, error);
    }
  }

  async #apply(
    keyId: string,
    message: BegunTry,
    found: Found<Tx> | undefined,
  ): Promise<'left' | 'gone' | 'more'> {
    if (found === undefined) throw noHandler(message.topic);
    const { way } = found.arrived;
    if (way.kind === 'refused') throw way.error;
    const ready = await way.read(found.arrived.incoming, message.attempts);
    const { client, group, idleMs } = this.#options;
    return client.$transaction(async (tx) => {
      const sql = sqlOf(tx);
      if (!(await joinTry(sql, group, keyId, message, idleMs))) return 'left';
      await ready.handle(tx);
      passCrashPoint('inbox:try-handled');
      return endTry(sql, group, keyId, message.id);
    });
  }

  async #failed(message: BegunTry, error: unknown): Promise<DrainKeyAnswer | undefined> {
    const { client, group, rules } = this.#options;
    const refusal = refusalReasonOf(error);
    const reason = refusal ?? 'error';
    const answer: FailAnswer = await client.$transaction((tx) =>
      failTry(sqlOf(tx), group, { message, reason, error: errorText(error), final: isFinal(refusal) }, rules),
    );
    if (answer.kind === 'wait') return { kind: 'waiting', inMs: answer.inMs };
    if (answer.kind === 'busy') return { kind: 'waiting', inMs: 0 };
    passCrashPoint('inbox:given-up');
    this.#gaveUp(message.id, reason, error);
    if (answer.kind === 'more') return undefined;
    return { kind: answer.kind === 'held' ? 'held' : 'drained' };
  }

  #gaveUp(id: string, reason: string, error: unknown): void {
    const { onFailed, report, tally } = this.#options;
    tally.failed += 1;
    report({ type: 'given-up', id, reason, error });
    onFailed();
  }

  #find(message: BegunTry): Found<Tx> | undefined {
    const incoming = arrivedAgain(message);
    for (const routes of this.#options.routes) {
      const arrived = identify(incoming, routes);
      // An edited message has an id of its own, whatever its headers say.
      if ('id' in arrived && arrived.way.kind === 'route')
        return {
          arrived: new Arrived(incoming, { id: message.id, topic: arrived.topic, way: arrived.way }),
          routes,
        };
    }
    const [routes] = this.#options.routes;
    if (routes === undefined) return undefined;
    const arrived = identify(incoming, routes);
    return 'id' in arrived ? { arrived, routes } : undefined;
  }

  async #answer({ id }: BegunTry, found: Found<Tx> | undefined): Promise<void> {
    if (found === undefined || found.arrived.way.kind !== 'route') return;
    const { topic } = found.arrived.way;
    if (topic.rules.confirm?.group !== this.#options.group) return;
    const receipts = this.#options.receiptsOf(found.routes);
    const installation = installationOf(found.arrived.incoming.header('ce_source'));
    receipts?.add({ id, installation, state: 'processed' });
    await receipts?.flush();
  }
}

/** What a newer consumer of the group may know is tried again, as long as other failures are. */
function isFinal(refusal: RefusalReason | undefined): boolean {
  return refusal !== undefined && refusal !== 'unknown-topic' && refusal !== 'unknown-version';
}

/** Another consumer of the group has it, or has not been deployed yet. */
function noHandler(topic: string): OutboxError {
  return new OutboxError(
    'OUTBOX_HANDLER_MISSING',
    `No handler of this consumer takes the topic "${topic}".`,
    {
      details: { topic },
    },
  );
}
