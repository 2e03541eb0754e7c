import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { OutboxError } from '../core/errors.ts';

/** Standard input, which may be a terminal. */
export type HidingInput = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
};

const enter: ReadonlySet<string> = new Set(['\r', '\n', '\u0004']);
const interrupt = '\u0003';

/**
 * The first line of the input. A terminal does not show what is typed; there Backspace takes back a character.
 *
 * @throws OutboxError `OUTBOX_COMMAND_INVALID` after Ctrl-C
 */
export async function readHidden(input: HidingInput): Promise<string> {
  if (input.isTTY !== true || input.setRawMode === undefined) {
    const [line = ''] = (await text(input)).split(/\r?\n/);
    return line;
  }
  input.setRawMode(true);
  try {
    return await typedAt(input);
  } finally {
    input.setRawMode(false);
    input.pause();
  }
}

/** In raw mode keys come as they are pressed, Ctrl-C as well. */
function typedAt(input: HidingInput): Promise<string> {
  const characters: string[] = [];
  input.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    const end = (): void => {
      input.off('data', take);
      input.off('end', end);
      resolve(characters.join(''));
    };
    const take = (keys: string): void => {
      for (const key of keys) {
        if (key === interrupt) {
          input.off('data', take);
          reject(new OutboxError('OUTBOX_COMMAND_INVALID', 'Nothing was typed to the end.'));
          return;
        }
        if (enter.has(key)) {
          end();
          return;
        }
        if (key === '\u007f' || key === '\b') characters.pop();
        else characters.push(key);
      }
    };
    input.on('data', take);
    input.once('end', end);
  });
}
