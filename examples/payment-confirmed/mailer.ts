import { createTransport } from 'nodemailer';
import { type Consumer, consumer } from 'temporal-outbox/consumer';
import type { Prisma, PrismaClient } from './generated/payments/client.ts';
import config from './outbox.config.ts';
import { personTold } from './topics.ts';

/** Mails what has failed. Only if it dies between the mail and its commit is a mail repeated, with the same Message-ID. */
export function mailer(
  prisma: PrismaClient,
  smtp: { readonly host: string; readonly port: number },
): Consumer<Prisma.TransactionClient> {
  const mail = createTransport({ ...smtp, ignoreTLS: true });
  return consumer(prisma, { config, group: 'mailer', logger: false }).on(personTold, (_tx, { id, payload }) =>
    mail.sendMail({
      messageId: `<${id}@outbox.example.com>`,
      from: 'outbox@example.com',
      to: 'accounting@example.com',
      subject: `A payment has failed: ${payload.error}`,
      text: `temporal-outbox show ${payload.failedId}`,
    }),
  );
}
