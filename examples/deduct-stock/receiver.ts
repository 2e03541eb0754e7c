import fastify, { type FastifyInstance } from 'fastify';
import {
  type ReceiveWork,
  receiveNode,
  type Transaction,
  type TransactionClient,
} from 'temporal-outbox/http';
import { secret } from './contract.ts';

/** A Fastify server that receives messages at one path, each once. */
export function receiver<Tx extends Transaction>(
  path: string,
  client: TransactionClient<Tx>,
  group: string,
  work: ReceiveWork<Tx>,
): FastifyInstance {
  const app = fastify();
  // The body is left unread, because the signature is that of its bytes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.post(path, async (request, reply) => {
    reply.hijack();
    const options = { client, group, secret, report: console.error };
    await receiveNode(request.raw, reply.raw, options, work);
  });
  return app;
}
