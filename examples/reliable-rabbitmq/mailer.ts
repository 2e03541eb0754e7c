import { createTransport } from 'nodemailer';
import { consumer } from 'temporal-outbox/consumer';
import type { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { personTold } from './topics.ts';

/** Mails what has failed. Only if it dies between the mail and its commit is a mail repeated, with the same Message-ID. */
export function startMailer(prisma: PrismaClient, smtp: { readonly host: string; readonly port: number }) {
  const mail = createTransport({ ...smtp, ignoreTLS: true });
  return consumer(prisma, { config, group: 'mailer', logger: false })
    .on(personTold, (_tx, { id, payload }) =>
      mail.sendMail({
        messageId: `<${id}@outbox.example.com>`,
        from: 'outbox@example.com',
        to: 'warehouse@example.com',
        subject: `An order has not reached the warehouse: ${payload.error}`,
        text: `temporal-outbox show ${payload.failedId}`,
      }),
    )
    .start();
}
