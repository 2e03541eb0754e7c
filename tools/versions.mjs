/** Runs tests and demo on every supported version: `npm run versions`. */
import { createJiti } from 'jiti';

const { main } = await createJiti(import.meta.url).import('../test/versions/main.ts');
process.exitCode = await main(process.argv.slice(2));
