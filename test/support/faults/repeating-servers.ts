import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { onTestFinished } from 'vitest';
import { http } from '../../../src/brokers/http/transport/http-transport.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { rabbitmq } from '../../../src/brokers/rabbitmq/transport/rabbitmq-transport.ts';
import { redisStream } from '../../../src/brokers/redis/transport/stream-transport.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import { workflow } from '../../../src/brokers/workflow/transport/workflow-transport.ts';
import { scriptedRedis } from '../fixtures/scripted-redis.ts';
import { scriptedKafka } from '../kafka/scripted-kafka.ts';
import { scriptedRabbitmq } from '../rabbitmq/scripted-rabbitmq.ts';
import { postgresMessage } from './refusing-server.ts';

/** A password, key or token that every server repeats in what it refuses. */
export const plantedSecret = 'CANARY-9f8+e7d';
/** What it says beside that, so that a test sees that its words are told. */
export const saidBeside = 'unfit-credential';

const inUrl = encodeURIComponent(plantedSecret);

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server in the place of PostgreSQL; it repeats the password that it got. @returns its address, with the password */
export async function repeatingPostgres(): Promise<string> {
  const askForPassword = postgresMessage('R', Buffer.from([0, 0, 0, 3]));
  const port = await listening(
    createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.write(askForPassword));
      socket.on('data', (bytes) => {
        if (bytes[0] !== 0x70) return;
        const password = bytes.subarray(5, -1).toString();
        const said = `SFATAL\0VFATAL\0C28P01\0M${saidBeside} ${password}\0\0`;
        socket.end(postgresMessage('E', Buffer.from(said)));
      });
    }),
  );
  return `postgresql://shop:${inUrl}@127.0.0.1:${port}/shop`;
}

/** A server in the place of Temporal; it repeats the key that it got. */
export async function repeatingTemporal(): Promise<{ readonly address: string }> {
  const server = createHttp2Server();
  server.on('stream', (stream, { authorization }) => {
    stream.on('error', () => undefined);
    const said = encodeURIComponent(`${saidBeside} ${authorization}`);
    const unauthenticated = { 'grpc-status': '16', 'grpc-message': said };
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', ...unauthenticated },
      { endStream: true },
    );
  });
  return { address: `127.0.0.1:${await listening(server)}` };
}

/** A mail server that repeats the credentials that it got, as they came. @returns its address, with the password */
export async function repeatingMailServer(): Promise<string> {
  const port = await listening(
    createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.write('220 mail.test\r\n');
      socket.on('data', (bytes) => {
        const line = bytes.toString().trim();
        if (line.startsWith('EHLO')) socket.write('250-mail.test\r\n250 AUTH PLAIN\r\n');
        else if (line.startsWith('AUTH')) socket.write(`535 5.7.8 ${saidBeside} ${line}\r\n`);
        else socket.end('221 bye\r\n');
      });
    }),
  );
  // A user after which base64 of both has no base64 of the password in it.
  return `smtp://shop1:${inUrl}@127.0.0.1:${port}`;
}

/** A transport to a server that repeats its credentials, and an address there. */
export interface RepeatingBroker {
  readonly transport: Transport;
  readonly address: string;
}

/** By the name of the broker. */
export const repeatingBrokers: Readonly<Record<string, () => Promise<RepeatingBroker>>> = {
  async redis() {
    // As servers and proxies that do not know a command answer it.
    const { port } = await scriptedRedis(([name = '', ...args]) =>
      ['AUTH', 'HELLO'].includes(name)
        ? new Error(
            `ERR unknown command '${name}' ${saidBeside}, with args beginning with: '${args.join("' '")}'`,
          )
        : 'OK',
    );
    return at('orders', redisStream({ url: `redis://shop:${inUrl}@127.0.0.1:${port}` }));
  },
  async rabbitmq() {
    const server = await scriptedRabbitmq();
    server.refuseLogin = (response) => `ACCESS_REFUSED - ${saidBeside} ${response.split('\0').at(-1)}`;
    return at('orders', rabbitmq({ url: `amqp://shop:${inUrl}@127.0.0.1:${server.port}` }));
  },
  async kafka() {
    const broker = await scriptedKafka();
    broker.login = { ...broker.login, code: 58, message: `${saidBeside} ${plantedSecret}` };
    const sasl = { mechanism: 'plain', username: 'shop', password: plantedSecret } as const;
    return at('orders', kafka({ servers: broker.address, sasl }));
  },
  async 'kafka-token'() {
    const broker = await scriptedKafka();
    broker.login = { ...broker.login, code: 58, message: `${saidBeside} ${plantedSecret}` };
    const oauthBearerProvider = async () => ({ value: plantedSecret });
    return at(
      'orders',
      kafka({ servers: broker.address, sasl: { mechanism: 'oauthbearer', oauthBearerProvider } }),
    );
  },
  async workflow() {
    const { address } = await repeatingTemporal();
    const start = { type: 'handleOrder', taskQueue: 'orders', id: () => 'order' };
    return at('orders', workflow({ ...start, address, tls: false, apiKey: plantedSecret }));
  },
  async http() {
    const port = await listening(
      createHttpServer(({ headers }, response) => {
        response.writeHead(401).end(`${saidBeside} ${headers.authorization}`);
      }),
    );
    const transport = http({
      allow: ['127.0.0.1'],
      secret: `whsec_${Buffer.alloc(24).toString('base64')}`,
      headers: { authorization: `Bearer ${plantedSecret}` },
    });
    return at(`http://127.0.0.1:${port}/`, transport);
  },
};

function at(address: string, transport: Transport): RepeatingBroker {
  return { address, transport };
}
