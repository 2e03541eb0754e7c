import { hashPassword } from '../api/sign-in/password-hash.ts';
import { OutboxError } from '../core/errors.ts';
import { exitCodes, type Output } from './output.ts';
import { type HidingInput, readHidden } from './read-hidden.ts';

const shortestPassword = 12;

/** Hashes the password of the first line: on a command line, others would see it. A terminal does not show it. */
export async function passwordCommand(output: Output, input: HidingInput): Promise<number> {
  if (input.isTTY === true) output.trouble('Type the password, which is not shown, and Enter.');
  const password = await readHidden(input);
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
