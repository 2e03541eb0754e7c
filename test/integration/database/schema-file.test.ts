import { expect, test } from 'vitest';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { dumpSchema } from '../../support/fixtures/schema-dump.ts';

const header = `-- The schema "outbox" as the migrations make it, by name: to read, and to see what a change of them changes. Nobody runs it.
-- Made by \`npm run generated\`; the same on PostgreSQL 15 to 18.

`;

test('prisma/schema.sql equals the result of the migrations', async ({ onTestFinished }) => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const text = header + (await dumpSchema(made.database));

  await expect(text, 'Where the change is meant: `npm run generated`, and commit it.').toMatchFileSnapshot(
    '../../../prisma/schema.sql',
  );
});
