import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { hashPassword } from '../api/sign-in/password-hash.ts';
import { OutboxError } from '../core/errors.ts';
import { exitCodes, type Output } from './output.ts';

const shortestPassword = 12;

/** Hashes the password of the first line: on a command line, others would see it. */
export async function passwordCommand(output: Output, input: Readable): Promise<number> {
  output.trouble('Type the password, then Enter and Ctrl-D.');
  const [password = ''] = (await text(input)).split(/\r?\n/);
  if (password.length < shortestPassword)
    throw new OutboxError(
      'OUTBOX_COMMAND_INVALID',
      `The password has fewer than ${shortestPassword} characters.`,
    );
  const hash = await hashPassword(password);
  output.line(hash);
  output.value({ ok: true, hash });
  return exitCodes.ok;
}
