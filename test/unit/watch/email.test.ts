import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { emailDestination } from '../../../src/watch/email.ts';
import { mailServer } from '../../support/fixtures/alert-receivers.ts';
import { soFar } from '../../support/fixtures/fake-time.ts';
import { until } from '../../support/fixtures/until.ts';

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

test('an e-mail under way to a server that does not answer is given up at once', async (context) => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  context.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { port } = silent.address() as { readonly port: number };
  const server = () => `smtp://127.0.0.1:${port}`;
  const destination = emailDestination({ from: 'outbox@shop.example', server, to: ['ada@shop.example'] });
  const stopping = new AbortController();
  const telling = soFar(
    destination.tell({ id: 'alert_1', title: 'an alert', alerts: [], lines: [] }, stopping.signal),
  );
  await until(() => sockets.length > 0);
  expect(telling.state).toBe('open');

  stopping.abort();
  await new Promise(setImmediate);
  expect(telling).toMatchObject({ state: 'rejected', error: { message: 'the mail server took too long' } });
});
