import express from 'express';

/** The API beside the routes and body parser of an Express application. */
export async function serve(listener) {
  const app = express();
  app.use('/ops/outbox', listener);
  app.use(express.json());
  app.post('/orders', (request, response) => response.json(request.body));
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}
