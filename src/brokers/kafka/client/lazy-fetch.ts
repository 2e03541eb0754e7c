import type { Kafka } from 'kafkajs';
import { eachConnection, memberOf, setMember } from './client-internals.ts';
import { fetchVersion, OldFormat, readFetchResponse } from './fetch-response.ts';

const fetchKey = 1;

type Decode = (raw: Buffer) => Promise<unknown>;

/**
 * Lets a client read records by their bytes, when their fields are asked for. Groups, connections, and what is fetched when
 * remain kafkajs': only how it reads the answers to fetches is replaced, for this client alone. Answers of another version of
 * the protocol, and those with records of an older format, are read by kafkajs.
 */
export function readLazily(kafka: Kafka): Kafka {
  eachConnection(kafka, (connection) => {
    const send = memberOf(connection, 'send');
    if (typeof send !== 'function') return;
    setMember(
      connection,
      'send',
      (given: unknown): unknown =>
        Reflect.apply(send, connection, [isFetch(given) ? withOwnDecoder(given) : given]) as unknown,
    );
  });
  return kafka;
}

function isFetch(given: unknown): given is object {
  const request = memberOf(given, 'request');
  return memberOf(request, 'apiKey') === fetchKey && memberOf(request, 'apiVersion') === fetchVersion;
}

function withOwnDecoder(given: object): object {
  const response = memberOf(given, 'response');
  const decode = memberOf(response, 'decode');
  if (typeof decode !== 'function') return given;
  const own: Decode = async (raw) => {
    try {
      return await readFetchResponse(raw);
    } catch (error) {
      if (error instanceof OldFormat) return Reflect.apply(decode, response, [raw]) as unknown;
      throw error;
    }
  };
  return { ...given, response: { parse: memberOf(response, 'parse'), decode: own } };
}
