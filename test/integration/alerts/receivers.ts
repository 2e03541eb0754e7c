import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { AlertInMessage } from '../../../src/alerts/message.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** A request as a receiver got it. */
export interface Posted {
  readonly body: string;
  readonly json: { readonly text: string; readonly alerts: readonly AlertInMessage[] };
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A real HTTP server that takes alerts. */
export interface HookServer {
  readonly url: string;
  readonly posted: Posted[];
  /** What it answers from now on; `silent`: nothing. */
  answer: number | 'silent';
}

/** Starts it; it ends with the test. */
export async function hookServer({ onTestFinished }: TestEnd): Promise<HookServer> {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (hook.answer === 'silent') return;
      if (hook.answer < 300) {
        const body = Buffer.concat(chunks).toString('utf8');
        posted.push({ body, json: JSON.parse(body) as Posted['json'], headers: request.headers });
      }
      response.writeHead(hook.answer).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const hook: HookServer = { url: `http://127.0.0.1:${port}/secret-path`, posted, answer: 200 };
  return hook;
}

/** A real mail server. */
export interface MailServer {
  readonly url: string;
  /** Each mail with its headers. */
  readonly mails: string[];
}

/** Starts it, with a user and a password; it ends with the test. */
export async function mailServer({ onTestFinished }: TestEnd): Promise<MailServer> {
  const mails: string[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ password, username }, _session, answer) =>
      username === 'shop' && password === 'p@ss'
        ? answer(null, { user: username })
        : answer(new Error('refused')),
    onData(stream, _session, accept) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push(Buffer.concat(chunks).toString('utf8'));
        accept();
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const { port } = listening.address() as AddressInfo;
  return { url: `smtp://shop:p%40ss@127.0.0.1:${port}`, mails };
}
