import { defineConfig } from 'prisma/config';
import { shopUrl } from '../databases.ts';

export default defineConfig({ schema: 'prisma/schema.prisma', datasource: { url: shopUrl() } });
