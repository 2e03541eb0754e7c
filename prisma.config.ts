import { defineConfig } from 'prisma/config';

/** Where Prisma finds the models of the demo shop. It migrates nothing here, so it gets no address. */
export default defineConfig({ schema: 'prisma/shop.prisma' });
