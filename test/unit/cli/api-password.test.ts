import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { isPassword, parsePasswordHash } from '../../../src/api/sign-in/password-hash.ts';
import { passwordCommand } from '../../../src/cli/api-password-command.ts';
import { written } from '../../support/fixtures/written.ts';

/** A terminal, which shows what is typed unless its mode is raw. */
function terminal() {
  const shown: string[] = [];
  let raw = false;
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode(on: boolean) {
      raw = on;
      return input;
    },
  });
  return {
    input,
    shown,
    isRaw: () => raw,
    type: (text: string): void => {
      if (!raw) shown.push(text);
      input.write(text);
    },
  };
}

test('a password that is typed at a terminal is not shown, can be corrected, and ends with Enter', async () => {
  const { input, isRaw, shown, type } = terminal();
  const end = written((output) => passwordCommand(output, input));
  for (const key of 'wrong\u0015correct horse batterx') type(key);
  type('\u007fy\r');
  const { code, stdout } = await end;

  expect(code).toBe(0);
  const hash = parsePasswordHash(stdout.trim());
  expect(hash && (await isPassword('correct horse battery', hash))).toBe(true);
  expect(shown).toEqual([]);
  expect(isRaw(), 'the terminal is as before').toBe(false);
});

test.each([
  ['Ctrl-C', '\u0003'],
  ['a key that types no character', '\u001b[D'],
])('%s ends it without a hash', async (_key, pressed) => {
  const { input, isRaw, type } = terminal();
  const end = written((output) => passwordCommand(output, input));
  type(`correct horse battery${pressed}`);
  await expect(end).rejects.toMatchObject({ code: 'OUTBOX_COMMAND_INVALID' });
  expect(isRaw()).toBe(false);
});
