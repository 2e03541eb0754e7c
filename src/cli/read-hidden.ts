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
const clear = '\u0015';

/**
 * The first line of the input. A terminal does not show what is typed; there Backspace takes back a character, and Ctrl-U all.
 *
 * @throws OutboxError `OUTBOX_COMMAND_INVALID` after Ctrl-C, and after a key that types no character, such as an arrow
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
    const refuse = (why: string): void => {
      input.off('data', take);
      input.off('end', end);
      reject(new OutboxError('OUTBOX_COMMAND_INVALID', why));
    };
    const take = (keys: string): void => {
      for (const key of keys) {
        if (key === interrupt) {
          refuse('Nothing was typed to the end.');
          return;
        }
        if (enter.has(key)) {
          end();
          return;
        }
        if (key === clear) characters.length = 0;
        else if (key === '\u007f' || key === '\b') characters.pop();
        else if (/\p{Cc}/u.test(key)) {
          refuse('A key was pressed that types no character.');
          return;
        } else characters.push(key);
      }
    };
    input.on('data', take);
    input.once('end', end);
  });
}
