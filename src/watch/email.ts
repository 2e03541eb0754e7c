import { requirePackages } from '../core/packages.ts';
import type { Destination } from './destination.ts';
import type { SettledDestinations } from './settings.ts';

/** Of each step: the connection, the greeting, and every answer. */
const answerWithinMs = 10_000;
const wholeWithinMs = 30_000;

/**
 * Sends alerts by e-mail, over a connection of their own.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING` without nodemailer, now and not when it is needed most
 */
export function emailDestination({
  from,
  server,
  to,
}: NonNullable<SettledDestinations['email']>): Destination {
  requirePackages('email');
  return {
    name: 'email',
    async tell({ id, lines, title }, signal) {
      const { createTransport } = await import('nodemailer');
      const mailer = createTransport({
        url: server(),
        connectionTimeout: answerWithinMs,
        greetingTimeout: answerWithinMs,
        socketTimeout: answerWithinMs,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const mail = {
        from,
        to: [...to],
        subject: title,
        text: `${lines.join('\n\n')}\n`,
        messageId: `<${id}@temporal-outbox>`,
      };
      try {
        await unlessOver(
          mailer.sendMail(mail),
          AbortSignal.any([signal, AbortSignal.timeout(wholeWithinMs)]),
        );
      } finally {
        mailer.close();
      }
    },
  };
}

/** What is under way is given up: the server may have accepted it. */
async function unlessOver(sending: Promise<unknown>, signal: AbortSignal): Promise<void> {
  let end = (): void => undefined;
  const over = new Promise<never>((_resolve, reject) => {
    end = () => reject(new Error('the mail server took too long'));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
  try {
    await Promise.race([sending, over]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
