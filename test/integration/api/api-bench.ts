import { expect, onTestFinished } from 'vitest';
import type { Authentication, Caller } from '../../../src/api/authentication.ts';
import { type ApiHandler, apiHandler } from '../../../src/api/handler.ts';
import type { TopicOptions } from '../../../src/core/topic.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

/** Who asks, unless the test says otherwise: an operator who sees everything, by a token. */
export const olga: Caller = { name: 'olga', role: 'operator', payloads: true, ambient: false };
export const vera: Caller = { ...olga, name: 'vera', role: 'viewer', payloads: false };
export const adam: Caller = { ...olga, name: 'adam', role: 'admin' };
/** Sees only the topic "refunds". */
export const rita: Caller = { ...adam, name: 'rita', topics: ['refunds'] };

/** Proves whoever the header X-Test names; fixed, so that a test says who asks. */
export const byHeader: Authentication = {
  challenge: 'Test realm="outbox"',
  async caller(request) {
    const given = request.headers.get('x-test');
    if (given === 'broken') throw new Error('the identity provider is away');
    return given === null ? undefined : (JSON.parse(given) as Caller);
  },
};

export interface Asked {
  readonly as?: Caller | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, with its body parsed. */
export interface Told {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly headers: Headers;
}

/** The API on the database of a lane. */
export interface ApiBench {
  readonly lane: LaneFixture;
  readonly api: ApiHandler;
  readonly get: (path: string, asked?: Asked) => Promise<Told>;
  readonly post: (path: string, asked?: Asked) => Promise<Told>;
  drop(): Promise<void>;
}

export async function openApi(
  authentication: Authentication = byHeader,
  topic: TopicOptions = {},
): Promise<ApiBench> {
  const lane = await laneFixture(topic);
  const api = apiHandler({ database: { url: lane.url } }, { authentication, logger: false });
  const ask =
    (method: string) =>
    async (path: string, { as = olga, body = {}, headers = {} }: Asked = {}): Promise<Told> => {
      const response = await api(
        new Request(`http://api.test${path}`, {
          method,
          headers: {
            ...(as !== null && { 'x-test': JSON.stringify(as) }),
            ...(method === 'POST' && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      );
      const text = await response.text();
      return {
        status: response.status,
        body: JSON.parse(text) as Told['body'],
        text,
        headers: response.headers,
      };
    };
  return {
    lane,
    api,
    get: ask('GET'),
    post: ask('POST'),
    async drop() {
      await api.close();
      await lane.drop();
    },
  };
}

/** The same, which ends with the test that runs now. */
export async function ownApi(...given: Parameters<typeof openApi>): Promise<ApiBench> {
  const bench = await openApi(...given);
  onTestFinished(() => bench.drop());
  return bench;
}

/** Checks that the answer is a problem of this status and code. */
export function expectProblem(told: Told, status: number, code: string): void {
  expect(told.body).toMatchObject({ status, code });
  expect(told.status).toBe(status);
  expect(told.headers.get('content-type')).toBe('application/problem+json');
  expect(told.body['next']).toMatch(/\w+/);
}
