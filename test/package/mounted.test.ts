import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaneFixture, laneFixture } from '../support/fixtures/lane-fixture.ts';
import { installsWithinMs, type ScratchProject, scratchProject } from './scratch-project.ts';

let project: ScratchProject;
let lane: LaneFixture;
beforeAll(async () => {
  [project, lane] = [await scratchProject('mounted'), await laneFixture()];
}, installsWithinMs);
afterAll(async () => {
  await lane.drop();
  await project.remove();
});

const tokens = { olga: randomBytes(32).toString('base64url'), vera: randomBytes(32).toString('base64url') };
const hashOf = (token: string) => createHash('sha256').update(token).digest('hex');

/** A server of one framework, with the API below `/ops/outbox`. */
async function start(framework: string): Promise<{ readonly process: ChildProcess; readonly url: string }> {
  const process = spawn(globalThis.process.execPath, ['main.mjs', framework], {
    cwd: project.folder,
    env: {
      PATH: globalThis.process.env['PATH'],
      DATABASE_URL: lane.url,
      OLGA_HASH: hashOf(tokens.olga),
      VERA_HASH: hashOf(tokens.vera),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(process.stdout, 'data')) as [Buffer];
  return { process, url: `http://127.0.0.1:${port.toString().trim()}` };
}

describe.each(['express', 'fastify', 'nestjs'])('mounted in %s', (framework) => {
  let url: string;
  let server: ChildProcess;
  beforeAll(async () => {
    ({ process: server, url } = await start(framework));
  });
  afterAll(() => void server.kill());

  const ask = (
    path: string,
    as: keyof typeof tokens | null,
    {
      headers = {},
      ...init
    }: Omit<RequestInit, 'headers'> & { headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { ...headers, ...(as !== null && { authorization: `Bearer ${tokens[as]}` }) },
    });
  const post = (path: string, as: keyof typeof tokens, body: object, key = 'none'): Promise<Response> =>
    ask(path, as, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    });
  const follow = async (): Promise<{
    readonly status: number;
    readonly first: string;
    readonly stop: () => void;
  }> => {
    const end = new AbortController();
    const response = await ask('/ops/outbox/events', 'vera', { signal: end.signal });
    const reader = response.body?.getReader();
    const read = await reader?.read();
    return {
      status: response.status,
      first: Buffer.from(read?.value ?? []).toString(),
      stop: () => end.abort(),
    };
  };

  test('the API answers below its prefix, and the application beside it', async () => {
    const me = await ask('/ops/outbox/me', 'vera');
    expect([me.status, me.headers.get('x-content-type-options')]).toEqual([200, 'nosniff']);
    expect(await me.json()).toMatchObject({ name: 'vera', role: 'viewer' });
    const found = await ask('/ops/outbox/messages?topic=orders', 'vera');
    expect(await found.json()).toMatchObject({ next: null });
    expect((await ask('/me', 'vera')).status).toBe(404);
    const order = await post('/orders', 'olga', { id: 7 });
    expect(await order.json()).toEqual({ id: 7 });
  });

  test('what is refused is told as problem details', async () => {
    for (const [response, status, code] of [
      [await ask('/ops/outbox/me', null), 401, 'OUTBOX_REQUEST_UNPROVED'],
      [await post('/ops/outbox/pause', 'vera', { topic: 'orders' }), 403, 'OUTBOX_REQUEST_DENIED'],
      [await ask('/ops/outbox/nothing', 'olga'), 404, 'OUTBOX_REQUEST_INVALID'],
    ] as const) {
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(await response.json()).toMatchObject({ status, code });
      expect(response.status).toBe(status);
    }
  });

  test('a change arrives with its body, and with its key is made once', async () => {
    const id = await lane.send(framework, { afterMs: 3_600_000 });
    const path = `/ops/outbox/messages/${id}/reschedule`;
    const body = { after: '2h', reason: 'a test' };
    const first = await post(path, 'olga', body, framework);
    const told = await first.text();
    expect([first.status, JSON.parse(told)]).toMatchObject([200, { id, result: 'rescheduled' }]);
    const again = await post(path, 'olga', body, framework);
    expect([again.status, await again.text()]).toEqual([200, told]);
    const audit = await lane.database.query(
      'select actor, reason, result from outbox.audit where message_id = $1',
      [id],
    );
    expect(audit).toEqual([{ actor: 'olga', reason: 'a test', result: 'rescheduled' }]);
  });

  test('events come before the response ends, and a client that goes away ends its stream', async () => {
    const five = await Promise.all(Array.from({ length: 5 }, follow));
    expect(five.map(({ first, status }) => [status, first])).toEqual(
      five.map(() => [200, expect.stringContaining('retry: ') as string]),
    );
    expect((await follow()).status, 'a sixth of one caller').toBe(429);
    five[0]?.stop();
    const again = async () => {
      const { status, stop } = await follow();
      stop();
      return status;
    };
    await expect.poll(again).toBe(200);
    for (const { stop } of five) stop();
  });
});
