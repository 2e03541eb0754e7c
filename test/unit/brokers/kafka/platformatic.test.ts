import * as whole from '@platformatic/kafka';
import { expect, test } from 'vitest';
import { platformaticKafka } from '../../../../src/brokers/kafka/client/platformatic.ts';

test('the loaded parts of @platformatic/kafka are those of the package, without its clients', () => {
  const parts = platformaticKafka();

  expect(parts.Connection).toBe(whole.Connection);
  expect(parts.createAPI).toBe(whole.createAPI);
  expect(parts.protocolErrors).toBe(whole.protocolErrors);
  expect(parts.saslPlain).toBe(whole.saslPlain);
  expect(parts).not.toHaveProperty('Producer');
});
