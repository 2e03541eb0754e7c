import { constants } from 'node:fs';
import { access, type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { OutboxError, type SendOutcome, sendByKey, type Transport } from '../../../src/transports.ts';

/** Longer lines are refused, because the readers of the files cannot process them. */
const maxLineBytes = 1_000_000;

/** Appends each message as a line of JSON to the file that its address names, in a folder that must exist. */
export function spool({ folder }: { readonly folder: string }): Transport {
  const files = new Map<string, Promise<FileHandle>>();

  const openFile = async (address: string): Promise<FileHandle> => {
    const file = await open(join(folder, address), 'a');
    // Only the folder says that there is a new file; a crash must not forget its name.
    const parent = await open(folder);
    try {
      await parent.sync();
    } finally {
      await parent.close();
    }
    return file;
  };

  /** One handle per file, even for concurrent batches. */
  const fileOf = (address: string): Promise<FileHandle> => {
    const opened = files.get(address) ?? openFile(address);
    files.set(address, opened);
    // The next batch tries again.
    opened.catch(() => files.delete(address));
    return opened;
  };

  const append = async (file: FileHandle, line: string): Promise<SendOutcome> => {
    if (Buffer.byteLength(line) > maxLineBytes)
      return { kind: 'permanent', error: `The line is longer than ${maxLineBytes} bytes.` };
    // An error here makes the message ambiguous: part of the line may be in the file. So each line begins on a line of
    // its own, whatever this process or one before it has left there.
    await file.appendFile(`\n${line}`);
    await file.datasync();
    return { kind: 'acknowledged', partition: null, offset: null };
  };

  return {
    name: 'spool',
    endpoint: folder,
    async publish(batch) {
      let file: FileHandle;
      try {
        file = await fileOf(batch.address);
      } catch (error) {
        // Nothing was written, and the file cannot be opened: the lanes of this address wait until a probe succeeds.
        const hold = { scope: 'topic', reason: String(error) } as const;
        return { outcomes: batch.messages.map(() => ({ kind: 'deferred', onWire: false })), hold };
      }
      return sendByKey(batch, 1, ({ id, key, headers, payload }) =>
        append(file, `${JSON.stringify({ id, key, headers, payload })}\n`),
      );
    },
    async probe(address) {
      try {
        await access(folder, constants.W_OK);
        await fileOf(address);
      } catch (cause) {
        throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `No line can be added to ${address}.`, { cause });
      }
    },
    async close() {
      const opened = [...files.values()];
      files.clear();
      for (const file of await Promise.allSettled(opened))
        if (file.status === 'fulfilled') await file.value.close();
    },
  };
}
