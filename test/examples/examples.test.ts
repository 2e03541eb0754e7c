import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { compile, type Example, examples, runScript } from './example.ts';

const timeout = 300_000;
const named = (some: readonly Example[]) => some.map((one) => [one.name, one] as const);

test.each(named(examples))(
  '%s runs by one command and prints what it promises',
  { timeout },
  async (_, example) => {
    const { code, output, result } = await runScript(example, 'start');

    expect(code, output).toBe(0);
    expect(result).toMatch(new RegExp(`^${example.name}: .*\\d`));
    console.log(result);
  },
);

test('payment-confirmed runs over RocketMQ as well', { timeout }, async () => {
  const example = examples.find(({ name }) => name === 'payment-confirmed');
  assert.ok(example);

  const { code, output, result } = await runScript(example, 'start', { BROKER: 'rocketmq' });

  expect(code, output).toBe(0);
  expect(result).toMatch(/^payment-confirmed: over RocketMQ, .*\d/);
  console.log(result);
});

test.each(named(examples.filter(({ scripts }) => 'test' in scripts)))(
  '%s passes its own tests',
  { timeout },
  async (_, example) => {
    const { code, output } = await runScript(example, 'test');

    expect(code, output).toBe(0);
  },
);

test('all examples compile', { timeout }, async () => {
  expect(await compile()).toBe('');
});
