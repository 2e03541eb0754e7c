import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../dist/bin/temporal-outbox.js', import.meta.url));

/** Servers included, on a machine that does other things as well. */
const withinMs = 600_000;

test('the demo loses, invents, hastens and reorders nothing while a relay is killed and Kafka is stopped', {
  timeout: withinMs,
}, async ({ signal }) => {
  const child = spawn(process.execPath, [main, 'demo', '--json'], { signal, killSignal: 'SIGTERM' });
  const exited = once(child, 'exit');
  const [story, output] = await Promise.all([text(child.stderr), text(child.stdout)]);
  const [exitCode] = (await exited) as [number | null];
  const figures = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as Record<string, number>;

  // The story says what went wrong.
  expect({ exitCode, figures }, story).toEqual({
    exitCode: 0,
    figures: {
      ok: true,
      committed: 1_118,
      published: 1_117,
      effects: 1_117,
      paid: 557,
      canceled: 1,
      relayKills: 1,
      brokerStops: 1,
      attemptsBurned: 0,
      duplicatesDropped: expect.any(Number) as number,
      lost: 0,
      ghosts: 0,
      early: 0,
      outOfOrder: 0,
    },
  });
  // One batch at most: what was on its way when the relay died.
  expect(figures['duplicatesDropped']).toBeLessThan(1_000);
  for (const step of [1, 2, 3, 4, 5, 6, 7]) expect(story).toContain(`\n${step}. `);
});
