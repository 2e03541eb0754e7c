import { defineConfig } from 'prisma/config';

/** Where Prisma finds the models of the demo shop and of the tables of the outbox. Neither is migrated by Prisma. */
export default defineConfig({ schema: 'prisma' });
