import { expect, test } from 'vitest';
import { watchAnswers } from '../../../dev/servers/process/watch-answers.ts';
import { until } from '../../support/fixtures/until.ts';

/** A server that answers in turn as scripted, and then as at last. */
function scripted(
  answers: readonly (string | Error | undefined)[],
  restart = (): Promise<void> => Promise.resolve(),
) {
  const told: string[] = [];
  const died: string[] = [];
  let asked = 0;
  let restarts = 0;
  const watch = watchAnswers({
    name: 'Temporal',
    logFile: '/log',
    examine: () => {
      asked += 1;
      const answer = answers[Math.min(asked, answers.length) - 1];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    restart: () => {
      restarts += 1;
      return restart();
    },
    tell: (line) => told.push(line),
    died: ({ how }) => died.push(how),
    everyMs: 1,
  });
  return { watch, told, died, asked: () => asked, restarts: () => restarts };
}

test('a server that answers with an error three times in a row is restarted, and that is announced', {
  tags: ['own-servers-per-project'],
}, async () => {
  const server = scripted([
    'interrupted',
    'interrupted',
    undefined,
    'interrupted',
    'interrupted',
    'interrupted',
    undefined,
  ]);
  await until(() => server.asked() > 10);
  await server.watch.stop();

  expect(server.restarts()).toBe(1);
  expect(server.told).toEqual([
    'Temporal: answers every call with "interrupted" and is restarted (1 of 3)',
    'Temporal: answers again',
  ]);
});

test('a server that goes on answering with errors is restarted three times and then left', async () => {
  const server = scripted(['interrupted']);
  await until(() => server.told.some((line) => line.includes('also after 3 restarts')));
  await server.watch.stop();

  expect(server.restarts()).toBe(3);
  expect(server.died).toEqual([]);
});

test('a server that does not start again counts as dead', async () => {
  const server = scripted(['interrupted'], () => Promise.reject(new Error('no answer')));
  await until(() => server.died.length > 0);
  await server.watch.stop();

  expect(server.died).toEqual(['when it was restarted: no answer']);
});

test('a question that fails says nothing of the server', async () => {
  const server = scripted(['interrupted', 'interrupted', new Error('not asked')]);
  await until(() => server.asked() > 10);
  await server.watch.stop();

  expect(server.restarts()).toBe(0);
});
