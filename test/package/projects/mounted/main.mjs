import { bearerTokens, env } from 'temporal-outbox';
import { apiHandler, apiListener } from 'temporal-outbox/api';

const [, , framework] = process.argv;
const authentication = bearerTokens([
  { name: 'olga', hash: env('OLGA_HASH'), role: 'operator' },
  { name: 'vera', hash: env('VERA_HASH'), role: 'viewer' },
]);
const api = apiHandler(
  { database: { url: env('DATABASE_URL') } },
  { authentication, basePath: '/ops/outbox' },
);

const { serve } = await import(`./${framework}.mjs`);
process.stdout.write(`${await serve(apiListener(api))}\n`);
