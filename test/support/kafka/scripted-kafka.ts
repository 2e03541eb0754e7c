import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { KafkaBytes, KafkaQuestion } from './kafka-bytes.ts';

/** What the broker was asked to store. */
export interface ScriptedProduce {
  readonly topic: string;
  readonly partition: number;
  readonly acks: number;
  readonly timeoutMs: number;
  readonly records: Buffer;
}

/** What it answers about a partition. */
export interface ScriptedAnswer {
  readonly topic?: string;
  readonly partition?: number;
  readonly code?: number;
  readonly baseOffset?: bigint;
  readonly message?: string;
  /** What it says of single records. */
  readonly records?: readonly (string | null)[];
}

/** Names of requests, by their number in the protocol. */
const names: Readonly<Record<number, string>> = {
  0: 'produce',
  3: 'metadata',
  17: 'handshake',
  32: 'configs',
  36: 'authenticate',
};

/** A broker that keeps nothing: a test says what it answers, and sees what it was asked. */
export interface ScriptedKafka {
  readonly address: string;
  readonly port: number;
  /** The leader of each partition, by topic; -1: none. */
  readonly topics: Map<string, readonly number[]>;
  /** Where brokers are, by number; this one is 1. */
  readonly brokers: Map<number, number>;
  /** Settings by the name of a topic, or the number of a broker. */
  readonly configs: Map<string, Readonly<Record<string, string>>>;
  readonly calls: string[];
  readonly produced: ScriptedProduce[];
  /** The mechanism, then what a client says of itself. */
  readonly credentials: string[];
  /** What is not answered at all. */
  readonly mute: Set<string>;
  answer: (asked: ScriptedProduce) => ScriptedAnswer;
  /** Of the next answers to produce requests. */
  throttledMs: number;
  /** What it says to credentials. */
  login: { code: number; message: string | null; bytes: string; sessionMs: number };
  readonly connections: () => { readonly ever: number; readonly open: number };
  cut(): void;
}

export async function scriptedKafka(): Promise<ScriptedKafka> {
  const sockets = new Set<Socket>();
  let ever = 0;
  const server = createServer((socket) => {
    ever += 1;
    sockets.add(socket);
    let begun = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      begun = Buffer.concat([begun, bytes]);
      while (begun.length >= 4 && begun.length >= 4 + begun.readInt32BE(0)) {
        const end = 4 + begun.readInt32BE(0);
        const reply = replyTo(broker, Buffer.from(begun.subarray(4, end)));
        begun = begun.subarray(end);
        if (reply !== undefined) socket.write(reply);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  const broker: ScriptedKafka = {
    address: `127.0.0.1:${port}`,
    port,
    topics: new Map(),
    brokers: new Map([[1, port]]),
    configs: new Map(),
    calls: [],
    produced: [],
    credentials: [],
    mute: new Set(),
    answer: () => ({}),
    throttledMs: 0,
    login: { code: 0, message: null, bytes: '', sessionMs: 0 },
    connections: () => ({ ever, open: sockets.size }),
    cut,
  };
  return broker;
}

function replyTo(broker: ScriptedKafka, frame: Buffer): Buffer | undefined {
  const name = names[frame.readInt16BE(0)] ?? 'unknown';
  const correlation = frame.readInt32BE(4);
  const clientId = frame.readInt16BE(8);
  broker.calls.push(name);
  const flexible = name !== 'produce' && name !== 'handshake';
  const body = new KafkaQuestion(frame, 10 + Math.max(0, clientId) + (flexible ? 1 : 0));
  const answers: Readonly<Record<string, () => KafkaBytes>> = {
    produce: () => produce(broker, body),
    metadata: () => metadata(broker, body),
    configs: () => configs(broker, body),
    handshake: () => handshake(broker, body),
    authenticate: () => authenticate(broker, body),
  };
  const answer = answers[name]?.();
  if (answer === undefined || broker.mute.has(name)) return undefined;
  const head = new KafkaBytes().int32(correlation);
  const whole = Buffer.concat([(flexible ? head.int8(0) : head).bytes, answer.bytes]);
  return Buffer.concat([new KafkaBytes().int32(whole.length).bytes, whole]);
}

/** Version 8. */
function produce(broker: ScriptedKafka, body: KafkaQuestion): KafkaBytes {
  body.text();
  const acks = body.int16();
  const timeoutMs = body.int32();
  const reply = new KafkaBytes();
  const topics = body.int32();
  reply.int32(topics);
  for (let n = 0; n < topics; n += 1) {
    const topic = body.text() ?? '';
    const partitions = body.int32();
    const asked = Array.from({ length: partitions }, () => ({
      topic,
      acks,
      timeoutMs,
      partition: body.int32(),
      records: body.take(body.int32()),
    }));
    broker.produced.push(...asked);
    reply.text(
      broker.answer(asked[0] ?? { topic, acks, timeoutMs, partition: 0, records: Buffer.of() }).topic ??
        topic,
    );
    reply.int32(partitions);
    for (const one of asked) {
      const {
        partition = one.partition,
        code = 0,
        baseOffset = 100n,
        message = null,
        records = [],
      } = broker.answer(one);
      reply.int32(partition).int16(code).int64(baseOffset).int64(-1n).int64(0n).int32(records.length);
      for (const [place, text] of records.entries()) reply.int32(place).text(text);
      reply.text(message);
    }
  }
  return reply.int32(broker.throttledMs);
}

/** Version 9. */
function metadata({ brokers, topics }: ScriptedKafka, body: KafkaQuestion): KafkaBytes {
  const asked = Array.from({ length: body.count() }, () => {
    const name = body.compactText() ?? '';
    // Without tagged fields, of which this byte is the number.
    body.take(1);
    return name;
  });
  const reply = new KafkaBytes().int32(0).count(brokers.size);
  for (const [id, port] of brokers)
    reply.int32(id).compactText('127.0.0.1').int32(port).compactText(null).int8(0);
  reply.compactText('cluster').int32(1).count(asked.length);
  for (const name of asked) {
    const leaders = topics.get(name);
    reply
      .int16(leaders === undefined ? 3 : 0)
      .compactText(name)
      .int8(0)
      .count(leaders?.length ?? 0);
    for (const [partition, leader] of (leaders ?? []).entries()) {
      reply
        .int16(leader < 0 ? 5 : 0)
        .int32(partition)
        .int32(leader)
        .int32(0);
      // Of the replicas one is out of sync.
      reply.count(2).int32(1).int32(2).count(1).int32(1).count(0).int8(0);
    }
    reply.int32(0).int8(0);
  }
  return reply.int32(0).int8(0);
}

/** Of DescribeConfigs, version 4, for one resource. */
function configs(broker: ScriptedKafka, body: KafkaQuestion): KafkaBytes {
  body.count();
  const kind = body.int8();
  const name = body.compactText() ?? '';
  const wanted = Array.from({ length: body.count() }, () => body.compactText() ?? '');
  const known = broker.configs.get(name);
  const found = wanted.filter((one) => known?.[one] !== undefined);
  const reply = new KafkaBytes()
    .int32(0)
    .count(1)
    .int16(known === undefined ? 29 : 0)
    .compactText(null);
  reply.int8(kind).compactText(name).count(found.length);
  for (const one of found)
    reply
      .compactText(one)
      .compactText(known?.[one] ?? null)
      .int8(0)
      .int8(1)
      .int8(0)
      .count(0)
      .int8(0)
      .compactText(null)
      .int8(0);
  return reply.int8(0).int8(0);
}

/** Version 1. */
function handshake({ credentials }: ScriptedKafka, body: KafkaQuestion): KafkaBytes {
  const mechanism = body.text() ?? '';
  credentials.push(mechanism);
  const known = mechanism === 'UNKNOWN' ? 33 : 0;
  return new KafkaBytes().int16(known).int32(1).text('PLAIN');
}

/** Version 2. */
function authenticate({ credentials, login }: ScriptedKafka, body: KafkaQuestion): KafkaBytes {
  credentials.push(body.take(body.count()).toString());
  return new KafkaBytes()
    .int16(login.code)
    .compactText(login.message)
    .compactText(login.bytes)
    .int64(BigInt(login.sessionMs))
    .int8(0);
}
