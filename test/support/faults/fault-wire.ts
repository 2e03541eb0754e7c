import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

/** The behavior of the wire. */
type Mode = 'pass' | 'refuse' | 'drop-replies' | 'cut-at-reply' | 'late';

/** A real TCP connection between a Kafka client and its brokers that can inject faults. */
export interface FaultWire {
  /** Opens a client's sockets through the wire. */
  readonly openSocket: ISocketFactory;
  /** Sets the behavior from now on, for open and new connections. `address` limits it to one broker. */
  set(mode: Mode, address?: string): void;
  /** Resets every open connection, as when a broker is killed. */
  cut(address?: string): void;
  /** Lets everything pass, for every broker. */
  heal(): void;
  /** Number of open connections. */
  connections(): number;
  close(): Promise<void>;
}

const lateByMs = 20;
/** Size of the length prefix of a response. */
const lengthBytes = 4;

interface Link {
  readonly target: string;
  readonly client: Socket;
  readonly broker: Socket;
  /** The part received so far of a response that will be delayed. */
  begun: Buffer;
}

/** Starts a wire on a free port of this machine. */
export async function faultWire(): Promise<FaultWire> {
  const modes = new Map<string, Mode>();
  let general: Mode = 'pass';
  const links = new Set<Link>();
  const modeOf = (target: string): Mode => modes.get(target) ?? general;
  const server = createServer((client) => accept(client, links, modeOf));
  const port = await listen(server);
  const cut = (address?: string): void => {
    for (const link of links) if (address === undefined || link.target === address) destroy(link);
  };
  return {
    openSocket({ host, port: brokerPort, onConnect }) {
      const target = `${host}:${brokerPort}`;
      // Nothing ever listens on port 1: the refusal is a real one.
      const socket = connect({ host: '127.0.0.1', port: modeOf(target) === 'refuse' ? 1 : port }, onConnect);
      socket.write(`${target}\n`);
      return socket;
    },
    set(mode, address) {
      if (address === undefined) general = mode;
      else modes.set(address, mode);
      if (mode === 'refuse') cut(address);
    },
    cut,
    heal() {
      general = 'pass';
      modes.clear();
    },
    connections: () => links.size,
    async close() {
      cut();
      await new Promise((done) => server.close(done));
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The wire has no port.'));
      else resolve(address.port);
    });
  });
}

/** The first line names the broker; everything after it is Kafka's protocol. */
function accept(client: Socket, links: Set<Link>, modeOf: (target: string) => Mode): void {
  client.on('error', () => client.destroy());
  client.once('data', (first) => {
    const end = first.indexOf(10);
    const target = first.subarray(0, end).toString();
    const [host = '', port] = target.split(':');
    const broker = connect({ host, port: Number(port) });
    const link = { begun: Buffer.alloc(0), broker, client, target };
    links.add(link);
    broker.write(first.subarray(end + 1));
    client.on('data', (bytes) => void broker.write(bytes));
    broker.on('data', (bytes) => reply(link, bytes, modeOf(target)));
    for (const socket of [client, broker]) {
      socket.on('error', () => destroy(link));
      socket.on('close', () => {
        links.delete(link);
        destroy(link);
      });
    }
  });
}

function reply(link: Link, bytes: Buffer, mode: Mode): void {
  if (mode === 'pass') link.client.write(bytes);
  else if (mode === 'cut-at-reply') destroy(link);
  else if (mode === 'late')
    for (const answer of wholeAnswers(link, bytes))
      setTimeout(() => link.client.writable && link.client.write(answer), Math.random() * lateByMs);
}

/**
 * Responses may overtake each other, but their chunks may not be interleaved: a busy broker sends one in several
 * chunks.
 */
function wholeAnswers(link: Link, bytes: Buffer): readonly Buffer[] {
  const answers: Buffer[] = [];
  link.begun = Buffer.concat([link.begun, bytes]);
  while (link.begun.length >= lengthBytes) {
    const end = lengthBytes + link.begun.readInt32BE(0);
    if (link.begun.length < end) break;
    answers.push(link.begun.subarray(0, end));
    link.begun = link.begun.subarray(end);
  }
  return answers;
}

function destroy({ client, broker }: Link): void {
  client.destroy();
  broker.destroy();
}
