import type { Open } from '../contenders/protocol.ts';
import { serve } from '../contenders/serve.ts';

/** Loaded one at a time: each is a whole library. */
const peers: Readonly<Record<string, () => Promise<Open>>> = {
  pgBoss: async () => (await import('./pg-boss.ts')).openPgBoss,
  graphileWorker: async () => (await import('./graphile-worker.ts')).openGraphileWorker,
  bullmq: async () => (await import('./bullmq.ts')).openBullmq,
  loop: async () => (await import('./loop.ts')).openLoop,
};

const load = peers[process.argv[2] ?? ''];
if (load === undefined) throw new Error(`There is no peer "${String(process.argv[2])}".`);
serve(await load());
