import { expect, test } from 'vitest';
import { type EventSink, OpenStreams } from '../../../src/api/live/event-stream.ts';

/** Opens a stream. @returns its sink, and a reader of its body */
function open(streams: OpenStreams, caller: string, signal = new AbortController().signal) {
  let sink: EventSink | undefined;
  const response = streams.respond({ name: caller, signal, mayGoOn: async () => true }, (given) => {
    sink = given;
    return () => undefined;
  });
  const body: ReadableStream<Uint8Array> | null = response.body;
  if (sink === undefined || body === null) throw new Error('The stream was not opened.');
  return { sink, reader: body.getReader() };
}

test('a hundred streams are open at most, of all callers, and one that ends makes room', () => {
  const streams = new OpenStreams();
  const first = new AbortController();
  open(streams, 'c0', first.signal);
  for (let n = 1; n < 100; n += 1) open(streams, `c${n}`);
  const another = () => open(streams, 'another');
  expect(another).toThrow(expect.objectContaining({ code: 'OUTBOX_REQUEST_LIMITED' }) as Error);
  first.abort();
  expect(another).not.toThrow();
  streams.close();
});

test('a caller has five streams at most, however many have ended, and others have theirs', () => {
  const streams = new OpenStreams();
  const [first, second] = [new AbortController(), new AbortController()];
  for (const signal of [first.signal, second.signal]) open(streams, 'ada', signal);
  for (let n = 2; n < 5; n += 1) open(streams, 'ada');
  const another = () => open(streams, 'ada');
  const refused = expect.objectContaining({ code: 'OUTBOX_REQUEST_LIMITED' }) as Error;
  expect(another).toThrow(refused);
  expect(() => open(streams, 'grace')).not.toThrow();
  for (const one of [first, second]) {
    one.abort();
    expect(another).not.toThrow();
    expect(another).toThrow(refused);
  }
  streams.close();
});

test('what waits for room goes on once the reader takes an event, or the stream ends', async () => {
  const streams = new OpenStreams();
  const { reader, sink } = open(streams, 'slow');
  for (let n = 0; n < 40; n += 1) sink.send('n', { n });
  let gone = 0;
  const waits = async () => {
    await sink.room();
    gone += 1;
  };
  void waits();
  await new Promise((resolve) => setImmediate(resolve));
  expect(gone).toBe(0);
  const read = await reader.read();
  expect(Buffer.from(read.value ?? []).toString()).toBe('retry: 2000\n\n');
  await expect.poll(() => gone).toBe(1);

  for (let n = 0; n < 40; n += 1) sink.send('n', { n });
  void waits();
  await new Promise((resolve) => setImmediate(resolve));
  expect(gone).toBe(1);
  streams.close();
  await expect.poll(() => gone).toBe(2);
  await sink.room();
});
