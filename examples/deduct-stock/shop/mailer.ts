import type { FastifyInstance } from 'fastify';
import { createTransport } from 'nodemailer';
import { PersonTold } from '../contract.ts';
import { receiver } from '../receiver.ts';
import type { PrismaClient } from './generated/client.ts';

/** Mails what has failed. Only if it dies between the mail and its commit is a mail repeated, with the same Message-ID. */
export function mailer(
  prisma: PrismaClient,
  smtp: { readonly host: string; readonly port: number },
): FastifyInstance {
  const mail = createTransport({ ...smtp, ignoreTLS: true });
  return receiver('/persons', prisma, 'mailer', async (_tx, { id, payload }) => {
    const { failedId, error } = PersonTold.parse(payload);
    await mail.sendMail({
      messageId: `<${id}@outbox.example.com>`,
      from: 'outbox@example.com',
      to: 'shop@example.com',
      subject: `A deduction has failed: ${error}`,
      text: `temporal-outbox show ${failedId}`,
    });
  });
}
