// @module-tag apart
import { expect, inject, test } from 'vitest';
import { runCliProcess } from '../../support/fixtures/cli.ts';

const given = {
  DATABASE_URL: inject('databaseUrl'),
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  KAFKA_BROKERS: inject('kafkaBrokers'),
  REDIS_URL: inject('redisUrl'),
};

const printEnvironment =
  'console.log(JSON.stringify([process.env.DATABASE_URL, process.env.REDIS_URL, process.argv.slice(1)]))';

test('servers runs a command with the addresses in its environment and exits with its exit code', async () => {
  const { REDIS_URL, ...others } = given;
  const program = ['node', '-e', `${printEnvironment}; process.exitCode = 7`, '--', '--json'];

  const { code, stdout } = await runCliProcess(['servers', '--with', 'redis', '--', ...program], others);

  expect(code).toBe(7);
  const [database, redis, flags] = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(database).toBe(given.DATABASE_URL);
  expect(redis).toMatch(/^redis:\/\/127\.0\.0\.1:\d+$/);
  expect(redis).not.toBe(REDIS_URL);
  expect(flags).toEqual(['--json']);
});

test.each([
  { how: 'in a list', names: ['--with', 'redis,rabbit'] },
  { how: 'by repeating the option', names: ['--with', 'rabbit', '--with', 'redis'] },
])('servers starts nothing when the name of a server is unknown, with names $how', async ({ names }) => {
  const { code, stderr } = await runCliProcess(['servers', ...names, '--', 'node', '-v'], given);

  expect(code).toBe(2);
  expect(stderr).toContain('OUTBOX_OPTION_INVALID');
  expect(stderr).toContain('rabbitmq');
  expect(stderr).not.toContain('starting');
});

test('servers --without kafka starts none, and does not look for the one of KAFKA_BROKERS', async () => {
  const nobody = { ...given, KAFKA_BROKERS: '127.0.0.1:1' };
  const program = ['--', 'node', '-p', 'process.env.TEMPORAL_ADDRESS'];

  const looked = await runCliProcess(['servers', ...program], nobody);
  const without = await runCliProcess(['servers', '--without', 'kafka', ...program], nobody);
  const unknown = await runCliProcess(['servers', '--without', 'temporal', ...program], nobody);

  expect(looked).toMatchObject({ code: 3, stdout: '' });
  expect(without).toEqual({ code: 0, stdout: `${given.TEMPORAL_ADDRESS}\n`, stderr: '' });
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('--without knows kafka') });
});

test('servers names the command that cannot be run', async () => {
  const { code, stderr } = await runCliProcess(['servers', '--', 'no-such-program-at-all'], given);

  expect(code).toBe(2);
  expect(stderr).toContain('no-such-program-at-all');
});
