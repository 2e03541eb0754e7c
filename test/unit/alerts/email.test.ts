import { expect, test } from 'vitest';
import { emailDestination } from '../../../src/alerts/email.ts';
import { mailServer } from '../../support/fixtures/alert-receivers.ts';

test('an e-mail goes to everyone, with each alert as a paragraph of its own', async (context) => {
  const { mails, url } = await mailServer(context);
  const to = ['ada@shop.example', 'grace@shop.example'];
  const destination = emailDestination({ from: 'outbox@shop.example', server: () => url, to });
  const message = { id: 'alert_1', title: 'temporal-outbox of shop: 2 alerts', alerts: [] };
  await destination.tell({ ...message, lines: ['FIRING failed', 'OVER lag'] }, new AbortController().signal);

  expect(mails).toHaveLength(1);
  const [head, ...paragraphs] = (mails[0] ?? '').trimEnd().split('\r\n\r\n');
  expect(head).toMatch(/^Subject: temporal-outbox of shop: 2 alerts\r$/m);
  expect(head).toMatch(/^Message-ID: <alert_1@temporal-outbox>\r$/m);
  for (const receiver of to) expect(head).toContain(receiver);
  expect(paragraphs).toEqual(['FIRING failed', 'OVER lag']);
});
