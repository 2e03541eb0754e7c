import { defineConfig, env } from 'prisma/config';

export default defineConfig({
  schema: 'prisma/ledger.prisma',
  datasource: { url: env('LEDGER_DATABASE_URL') },
});
