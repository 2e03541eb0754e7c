import { OutboxError } from '../../core/errors.ts';
import { sendByKey } from '../send-by-key.ts';
import type { Transport } from '../transport.ts';

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
    publish: (batch) =>
      sendByKey(batch, 1, async ({ id, key, headers, payload }) => {
        await write(JSON.stringify({ address: batch.address, id, key, headers, payload }));
        return { kind: 'acknowledged', offset: null, partition: null };
      }),
    async probe() {},
    async close() {},
  };
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
