import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { RemotingLink } from '../../../../src/brokers/rocketmq/client/remoting-link.ts';
import { rocketmqConnection } from '../../../../src/brokers/rocketmq/transport/rocketmq-options.ts';

/** A link to whatever listens where a name server or broker should: it says this. */
async function linkTo(said: Buffer): Promise<RemotingLink> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(said));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const link = new RemotingLink(address, rocketmqConnection({ servers: address, requestTimeout: '5s' }));
  onTestFinished(() => link.close());
  return link;
}

function frame(header: string, body = ''): Buffer {
  const text = Buffer.from(header);
  const bytes = Buffer.alloc(8 + text.length);
  bytes.writeUInt32BE(4 + text.length + Buffer.byteLength(body), 0);
  bytes.writeUIntBE(text.length, 5, 3);
  text.copy(bytes, 8);
  return Buffer.concat([bytes, Buffer.from(body)]);
}

const bytes = (...numbers: readonly number[]): Buffer => Buffer.from(numbers);

test.for<readonly [string, Buffer]>([
  ['a web server', Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')],
  ['a server of mail', Buffer.from('220 mail.test ESMTP\r\n')],
  ['a length below zero', bytes(255, 255, 255, 255, 0, 0, 0, 0)],
  ['a length of nothing', bytes(0, 0, 0, 0, 0, 0, 0, 0)],
  ['a header that is longer than its frame', bytes(0, 0, 0, 4, 0, 255, 255, 255)],
  ['a header that is no JSON', frame('{"code":')],
  ['a header that is null', frame('null')],
  ['a header without a code', frame('{"opaque":1}')],
  ['a code that is a text', frame('{"code":"0","opaque":1}')],
])('%s where RocketMQ should be is an error of the question, and ends nothing else', async ([, said]) => {
  const link = await linkTo(said);
  await expect(link.ask({ code: 105 })).rejects.toThrow('does not speak the protocol of RocketMQ');
});

test('an answer is read, also one whose remark is no text', async () => {
  const link = await linkTo(frame('{"code":17,"opaque":1,"remark":5}', 'body'));
  const answer = await link.ask({ code: 105 });
  expect({ ...answer, body: answer.body.toString() }).toEqual({ code: 17, remark: '', body: 'body' });
});

test('whatever bytes come, the question ends with an error or an answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), async (said) => {
      const link = await linkTo(Buffer.from(said));
      const answer = await link.ask({ code: 105 }).catch((error: unknown) => error);
      expect(answer).toBeInstanceOf(Error);
    }),
    { numRuns: 50 },
  );
});
