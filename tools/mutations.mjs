/** Plants the bugs of test/mutations one at a time and checks that a test fails for each: `npm run test:mutations`. */
import { createJiti } from 'jiti';

const { main } = await createJiti(import.meta.url).import('../test/mutations/main.ts');
process.exitCode = await main(process.argv.slice(2));
