import { fastify } from 'fastify';

/** The API beside the routes and body parser of a Fastify application. */
export async function serve(listener) {
  const app = fastify();
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    scope.all('/ops/outbox/*', (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
  });
  app.post('/orders', async (request) => request.body);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address().port;
}
