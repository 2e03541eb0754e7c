import { OutboxError } from '../../core/errors.ts';
import { sendByKey } from '../send-by-key.ts';
import type { Transport } from '../transport.ts';

/** Writes one line, which is given without a line break. */
export type WriteLine = (line: string) => void | Promise<void>;

/**
 * Writes each message as one line of JSON (`address`, `id`, `key`, `headers`, `payload`), for demos and trials.
 *
 * A written line counts as delivered. If `write` throws, the line may have been written; it is written again later.
 *
 * @param write Writes a line. @defaultValue to standard output
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
