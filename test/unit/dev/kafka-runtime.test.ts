import { expect, test } from 'vitest';
import { performanceFlags } from '../../../dev/servers/kafka/kafka-runtime.ts';

test("the JVM of a broker gets the flags that the variable of Kafka's scripts holds, and none without it", () => {
  const flags = performanceFlags({
    KAFKA_JVM_PERFORMANCE_OPTS: ' -XX:+UseSerialGC  -XX:TieredStopAtLevel=1 ',
  });

  expect(flags).toEqual(['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']);
  expect(performanceFlags({})).toEqual([]);
});
