import { connect, createServer, type Server, type Socket } from 'node:net';
import type { BrokerAddress, Reach } from '../../../src/brokers/kafka/transport/broker-address.ts';

/** The behavior of the wire. */
type Mode = 'pass' | 'refuse' | 'drop-replies' | 'cut-at-reply' | 'late';

/** A real TCP connection between a Kafka client and its brokers that can inject faults. */
export interface FaultWire {
  /** Leads a client's connections through the wire. */
  readonly reach: Reach;
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

/** Starts a wire: a port of this machine for each broker. */
export async function faultWire(): Promise<FaultWire> {
  const modes = new Map<string, Mode>();
  let general: Mode = 'pass';
  const links = new Set<Link>();
  const servers = new Map<string, { readonly server: Server; readonly port: Promise<number> }>();
  const modeOf = (target: string): Mode => modes.get(target) ?? general;
  const portFor = (target: string, broker: BrokerAddress): Promise<number> => {
    const known = servers.get(target);
    if (known !== undefined) return known.port;
    const server = createServer((client) => accept(client, { target, broker, links, modeOf }));
    const port = listen(server);
    servers.set(target, { server, port });
    return port;
  };
  const cut = (address?: string): void => {
    for (const link of links) if (address === undefined || link.target === address) destroy(link);
  };
  return {
    async reach(broker) {
      const target = `${broker.host}:${broker.port}`;
      // Nothing ever listens on port 1: the refusal is a real one.
      return { host: '127.0.0.1', port: modeOf(target) === 'refuse' ? 1 : await portFor(target, broker) };
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
      await Promise.all([...servers.values()].map(({ server }) => new Promise((done) => server.close(done))));
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

interface Wire {
  readonly target: string;
  readonly broker: BrokerAddress;
  readonly links: Set<Link>;
  readonly modeOf: (target: string) => Mode;
}

function accept(client: Socket, { target, broker: place, links, modeOf }: Wire): void {
  const broker = connect(place);
  const link = { begun: Buffer.alloc(0), broker, client, target };
  links.add(link);
  client.on('data', (bytes) => void broker.write(bytes));
  broker.on('data', (bytes) => reply(link, bytes, modeOf(target)));
  for (const socket of [client, broker]) {
    socket.on('error', () => destroy(link));
    socket.on('close', () => {
      links.delete(link);
      destroy(link);
    });
  }
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
