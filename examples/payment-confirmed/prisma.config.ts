import { defineConfig, env } from 'prisma/config';

export default defineConfig({
  schema: 'prisma/payments.prisma',
  datasource: { url: env('DATABASE_URL') },
});
