import { defineConfig } from 'prisma/config';
import { inventoryUrl } from '../databases.ts';

export default defineConfig({ schema: 'prisma/schema.prisma', datasource: { url: inventoryUrl() } });
