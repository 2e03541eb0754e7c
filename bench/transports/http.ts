import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { http } from '../../src/transports.ts';
import { inFlight, measureOneByOne } from './one-by-one.ts';
import type { TransportFigures, TransportSizes } from './transport-figures.ts';

const secret = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;

/** Measures signed posts to a server in this process, which shares the CPU with both sides. */
export async function measureHttp(sizes: TransportSizes): Promise<readonly TransportFigures[]> {
  const server = createServer((incoming, response) => {
    incoming.resume().once('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const webhook = new Webhook(secret);
  const dispatcher = new Agent({ connections: inFlight });
  try {
    return await measureOneByOne(
      {
        name: 'http',
        transport: http({ secret, allow: ['127.0.0.1'], concurrency: inFlight }),
        address,
        share: 0.2,
        async sendBare({ id, payload, headers }) {
          const now = new Date();
          const { statusCode, body } = await request(address, {
            method: 'POST',
            dispatcher,
            body: payload,
            headers: {
              ...headers,
              'webhook-id': id,
              'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
              'webhook-signature': webhook.sign(id, now, payload),
            },
          });
          await body.dump();
          if (statusCode !== 204) throw new Error(`It answered ${statusCode}.`);
        },
      },
      sizes,
    );
  } finally {
    await dispatcher.close();
    server.close();
  }
}
