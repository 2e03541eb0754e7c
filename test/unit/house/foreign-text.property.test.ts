import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { streamTable } from '../../../src/api/live/streams.ts';
import { placeOfText } from '../../../src/api/live/tail-place.ts';
import { ofTexts, readInputs } from '../../../src/api/read-inputs.ts';
import { parsePasswordHash } from '../../../src/api/sign-in/password-hash.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { classifyAnswer } from '../../../src/brokers/http/transport/answer-class.ts';
import { kafkaConnection } from '../../../src/brokers/kafka/transport/kafka-options.ts';
import { readEnvelope } from '../../../src/brokers/redis/client/message-format.ts';
import { fromProperties } from '../../../src/brokers/rocketmq/client/properties.ts';
import {
  durationOfFlag,
  listenAddressOfFlag,
  nearTimeOfFlag,
  wholeOfFlag,
} from '../../../src/cli/flag-values.ts';
import { databaseOf } from '../../../src/config/database-config.ts';
import { readCron } from '../../../src/core/cron.ts';
import { addressOfDatabase } from '../../../src/core/database-address.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { unchecked } from '../../../src/core/options/values.ts';
import { reasonOf } from '../../../src/core/reason.ts';
import { readReceipt } from '../../../src/core/receipt.ts';
import { writtenTime } from '../../../src/core/written-time.ts';
import { readCondition } from '../../../src/operations/delivery/status-conditions.ts';
import { isVersion } from '../../../src/operations/edit-content.ts';
import { clientConfig } from '../../../src/store/database/client-config.ts';
import { lanesOfNudge } from '../../../src/store/lane/nudge.ts';

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 0 && port <= 65_535;
const isTime = (at: Date): boolean => !Number.isNaN(at.getTime());

/** Reads a text that somebody else has written; false: it took what is no such value. */
const readers: Readonly<Record<string, (text: string) => boolean>> = {
  'an address of PostgreSQL': (url) => typeof addressOfDatabase(url).address === 'string',
  'the setting database.url': (url) => {
    const address = databaseOf({ url });
    return typeof clientConfig(address).application_name === 'string';
  },
  'servers of Kafka': (servers) =>
    kafkaConnection({ servers }).servers.every((one) => isPort(Number(new URL(`tcp://${one}`).port))),
  '--listen': (text) => isPort(listenAddressOfFlag('listen', text).port),
  '--older-than': (text) => Number.isFinite(durationOfFlag('older-than', text)),
  '--since': (text) => isTime(nearTimeOfFlag('since', text, 'ago')),
  '--limit': (text) => String(wholeOfFlag('limit', text)) === text.replace(/^0+(?=\d)/, ''),
  'a time': (text) => isTime(writtenTime(text)?.at ?? new Date()),
  'a cron line': (text) => typeof readCron(text) === 'object',
  'a receipt': (text) =>
    typeof readReceipt(text) === 'string' || Array.isArray(Reflect.get(Object(readReceipt(text)), 'ids')),
  'an envelope of Redis': (text) => Number.isFinite(readEnvelope(text)?.sentAtMs ?? 0),
  'a property of RocketMQ': (text) =>
    typeof fromProperties([
      ['outbox-headers', text],
      ['HEADERS', text],
      [text, text],
    ]).headers === 'object',
  'a place of a stream': (text) => typeof placeOfText(text)?.snapshot !== 'number',
  'a hash of a password': (text) => Number.isInteger(parsePasswordHash(text)?.cost ?? 1),
  'a condition of status': (text) => typeof readCondition(text).judge === 'function',
  'an If-Match': (text) => typeof isVersion(text) === 'boolean',
  'a nudge': (text) => lanesOfNudge(text).every(({ lane }) => Number.isSafeInteger(lane)),
  'a Retry-After': (retryAfter) => {
    const rules = { server: 's', hidden: [], permanentStatuses: new Set<number>() };
    const { pauseMs = 0 } = classifyAnswer(
      { status: 503, excerpt: '', retryAfter, location: retryAfter },
      rules,
    );
    return Number.isFinite(pauseMs) && pauseMs >= 0;
  },
  'a parameter of the HTTP API': (text) =>
    [...operationTable, ...streamTable].every(({ query }) =>
      Object.keys(query).every((name) => {
        const inputs = readInputs('query parameter', ofTexts({ [name]: query[name] ?? unchecked }), {
          [name]: text,
        });
        return Object.keys(inputs).every((read) => read === name);
      }),
    ),
};

const hostile = [
  '',
  ' ',
  '\0',
  '\n',
  '-',
  '0',
  '-0',
  '00',
  '007',
  '+1',
  '1 ',
  ' 1',
  '1.0',
  '1e2',
  '0x10',
  '0b1',
  '1_000',
  'NaN',
  'Infinity',

  '9'.repeat(20),
  '9'.repeat(400),
  '-1',
  '99999',
  '65536',
  '2026-02-30',
  '2026-02-30T00:00Z',
  '0000-01-01T00:00Z',
  '60',
  'never-1',

  '%',
  '%zz',
  '%ff',
  '\uD800',
  '\u202E',
  '٣',
  '１',
  'null',
  '[]',
  '{}',
  '"',
  '[[',
  '{"id":"',
  '{"id":"x","sentAtMs":1e999}',
  '__proto__',

  'h:99999',
  'h:65536',
  'h:0x10',
  '[::1]:99999',
  '[:::]:1',
  'h:1,h:99999',
  ':1',
  'a%zz:1',
  'topic/99999999999999999999',

  'postgresql://h/%',
  'postgresql://u:p%s@h/db',
  'postgresql://%zz@h/db',
  'postgresql://h:99999/db',
  'postgresql://[::1/db',
  'postgresql://',

  'postgresql://h1,h2:1/db',
  'postgres://h/d?port=x',
  'postgresql://h/d?host=%zz',
  'postgresql://h d/x',
  'postgresql:///d?sslcert=/nope',

  '99999999999999d',
  '1d 1d',
  '-5m',
  '1e3s',
  '* * * * 99',
  '@never',
  `${'1,'.repeat(300)}1 * * * *`,
];

test.each(Object.entries(readers))('%s is read, or refused with a code, whatever it says', (_, read) => {
  const judge = (text: string): void => {
    let fits: boolean;
    try {
      fits = read(text);
    } catch (error) {
      if (error instanceof OutboxError) return;
      throw new Error(`${JSON.stringify(text)} is refused without a code`, { cause: error });
    }
    if (!fits) throw new Error(`${JSON.stringify(text)} is taken`);
  };
  const wrong = hostile.flatMap((text) => {
    try {
      judge(text);
      return [];
    } catch (error) {
      return [reasonOf(error)];
    }
  });
  expect(wrong).toEqual([]);
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.json(), fc.webUrl()), judge),
    { numRuns: 200 },
  );
});

test.each([
  'postgresql://u:CANARY@h:99999/db',
  'postgresql://u:CANARY#x@h/db',
  'postgresql://u:CANARY/x@h/db',
  'postgresql://u:CANARY@h/%',
])(
  'an address that cannot be read is refused without its password, also in its causes: %s',
  { tags: ['secrets-stay-secret'] },
  (url) => {
    let refused: unknown;
    try {
      clientConfig({ url });
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: 'OUTBOX_CONFIG_INVALID' });
    expect(inspect(refused, { depth: 10, showHidden: true })).not.toContain('CANARY');
  },
);
