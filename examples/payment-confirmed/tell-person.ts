import { createTransport } from 'nodemailer';
import type { Operations } from 'temporal-outbox/operations';
import type { RelayReport } from 'temporal-outbox/relay';
import { paymentMade } from './topics.ts';

/** A listener for the relay. It mails what was sent as often as its topic allows, and never confirmed. */
export function tellPerson(outbox: Operations, smtp: { host: string; port: number }): RelayReport {
  const mail = createTransport({ ...smtp, ignoreTLS: true });
  return (event) => {
    if (event.type !== 'messages-unconfirmed') return;
    outbox
      .list({ topic: paymentMade.name, states: ['failed'] })
      .then(({ messages }) =>
        mail.sendMail({
          from: 'outbox@example.com',
          to: 'accounting@example.com',
          subject: `${messages.length} payment without a receipt`,
          text: messages.map(({ id }) => `temporal-outbox show ${id}`).join('\n'),
        }),
      )
      .catch((error: unknown) => console.error('The mail was not sent.', error));
  };
}
