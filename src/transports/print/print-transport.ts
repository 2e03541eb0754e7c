import { OutboxError } from '../../core/errors.ts';
import type { OutgoingBatch, PublishOutcome, Transport } from '../transport.ts';

/** Takes one line, without its line end. */
export type WriteLine = (line: string) => void | Promise<void>;

/**
 * Writes each message as one line of JSON (`address`, `id`, `key`, `headers`, `payload`): for demos and trials.
 *
 * A line that was taken counts as delivered. When `write` throws, the line may be out or not: it is printed again later.
 *
 * @param write Where lines go. @defaultValue standard output
 */
export function print(write: WriteLine = writeToStandardOutput): Transport {
  return {
    name: 'print',
    async publish(batch) {
      const outcomes = await printAll(batch, write);
      if (!outcomes.some(({ kind }) => kind === 'deferred')) return { outcomes };
      return {
        outcomes,
        hold: { reason: 'The relay gave up the batch before all of it was printed.', scope: 'topic' },
      };
    },
    async probe() {},
    async close() {},
  };
}

async function printAll(
  { address, messages, signal }: OutgoingBatch,
  write: WriteLine,
): Promise<PublishOutcome[]> {
  const outcomes: PublishOutcome[] = [];
  const blockedKeys = new Set<string>();
  for (const { id, key, headers, payload } of messages) {
    if (key !== null && blockedKeys.has(key)) {
      outcomes.push({ kind: 'held' });
    } else if (signal.aborted) {
      outcomes.push({ kind: 'deferred', onWire: false });
    } else {
      const outcome = await printOne(write, JSON.stringify({ address, id, key, headers, payload }));
      outcomes.push(outcome);
      if (outcome.kind !== 'acknowledged' && key !== null) blockedKeys.add(key);
    }
  }
  return outcomes;
}

async function printOne(write: WriteLine, line: string): Promise<PublishOutcome> {
  try {
    await write(line);
    return { kind: 'acknowledged', offset: null, partition: null };
  } catch (error) {
    return { kind: 'ambiguous', error: error instanceof Error ? error.message : String(error) };
  }
}

function writeToStandardOutput(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (error) => {
      if (error)
        reject(
          new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'Standard output takes no more lines.', {
            cause: error,
          }),
        );
      else resolve();
    });
  });
}
