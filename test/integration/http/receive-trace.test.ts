import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { receive } from '../../../src/http.ts';
import { ownDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { recordSpans } from '../../support/fixtures/recorded-spans.ts';
import { signed, webhookSecret } from '../../support/fixtures/webhook.ts';

const { inSpan, named } = recordSpans();
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

let made: TestDatabase;
let options: { client: PrismaClient; group: string; secret: string; report: () => undefined };
beforeEach(async () => {
  made = await ownDatabase();
  const client = openPrisma(made.url);
  onTestFinished(() => client.$disconnect());
  options = { client, group: 'shop', secret: webhookSecret('k'), report: () => undefined };
});

test('a request is handled in a span of its sender, and its span links to that of the server', {
  tags: ['trace-leads-to-effect'],
}, async () => {
  const { id, request } = signed('{"order":7}', { more: { 'ce-type': 'orders', traceparent } });
  let server: string | undefined;
  const answer = await inSpan('POST /orders', (span) => {
    server = span.spanContext().spanId;
    return receive(request(), options, () => inSpan('deduct', async () => undefined));
  });
  const repeated = await receive(request(), options, () => inSpan('deduct', async () => undefined));

  expect([answer.status, repeated.status]).toEqual([204, 204]);
  const handled = named('process orders');
  expect(handled).toMatchObject([
    {
      parentSpanContext: { traceId, spanId: 'b7ad6b7169203331', isRemote: true },
      links: [{ context: { spanId: 'b7ad6b7169203331' } }, { context: { spanId: server } }],
      attributes: {
        'messaging.system': 'http',
        'messaging.consumer.group.name': 'shop',
        'messaging.message.id': id,
      },
    },
  ]);
  expect(named('deduct').map((span) => span.parentSpanContext?.spanId)).toEqual([
    handled[0]?.spanContext().spanId,
  ]);

  const missing = signed('{"order":8}', { more: { 'ce-type': 'orders', traceparent } });
  // In JavaScript nothing else finds a forgotten promise.
  const refused = await receive(missing.request(), options, (() => undefined) as never);
  expect(refused.status, 'work without a promise is refused in a trace as well').toBe(500);
  expect(named('process orders')[1]?.attributes['error.type']).toBe('OUTBOX_PROMISE_MISSING');
});

test('the span of a request is an error if the commit fails after its work', async () => {
  await made.database.query('create table bill (n int unique deferrable initially deferred)');
  const { request } = signed('{"order":9}', { more: { 'ce-type': 'bills', traceparent } });
  const answer = await receive(request(), options, async (tx) => {
    await tx.$executeRawUnsafe('insert into bill values (1), (1)');
  });

  expect(answer.status).toBe(500);
  expect(named('process bills')).toMatchObject([
    { attributes: { 'error.type': expect.any(String) as string } },
  ]);
});
