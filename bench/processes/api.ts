import { serveApi } from '../../src/api/serve.ts';
import { apiHandler } from '../../src/api.ts';
import type { Contender, ContenderInput } from '../contenders/protocol.ts';
import { storesNothing } from './stores-nothing.ts';

/** The HTTP API, as `temporal-outbox api` runs it. Setting: `port`. It stores and delivers nothing. */
export async function openApi({ databaseUrl, setting }: ContenderInput): Promise<Contender> {
  const handler = apiHandler(
    { database: { url: databaseUrl } },
    {
      authentication: {
        caller: async () => ({ name: 'bench', role: 'viewer', payloads: false, ambient: false }),
      },
    },
  );
  const running = await serveApi(handler, { host: '127.0.0.1', port: Number(setting['port']) });
  return {
    fill: storesNothing,
    start: async () => undefined,
    stop: () => running.stop(),
  };
}
