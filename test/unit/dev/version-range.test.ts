import { expect, test } from 'vitest';
import { kafkaVersion } from '../../../dev/servers/kafka/kafka-runtime.ts';
import { supported } from '../../../dev/servers/providers/pinned-versions.ts';
import {
  compareVersions,
  describeRange,
  inRange,
  parseVersion,
} from '../../../dev/servers/providers/version-range.ts';
import { redisVersion } from '../../../dev/servers/redis/redis-program.ts';
import { serverVersion } from '../../../dev/servers/temporal/temporal-binary.ts';

test.each([
  ['postgres (PostgreSQL) 14.22', false],
  ['postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)', true],
  ['postgres (PostgreSQL) 18.4', true],
  ['postgres (PostgreSQL) 19beta1', false],
])('PostgreSQL: the support of %s is %s', (output, expected) => {
  expect(inRange(parseVersion(output) ?? [], supported.postgres)).toBe(expected);
});

test.each([
  ['3.6.2 (Commit:c4deed513057c94e)', false],
  ['3.7.0 (Commit:2ae524ed625438c5)', true],
  ['4.1.1 (Commit:be816b82d25370ce)', true],
  ['[2026-01-02 03:04:05] INFO starting\n4.0.0-rc1 (Commit:be816b82d25370ce)', true],
  ['5.0.0 (Commit:be816b82d25370ce)', false],
])('Kafka: the support of %j is %s', (output, expected) => {
  expect(inRange(kafkaVersion(output) ?? [], supported.kafka)).toBe(expected);
});

test.each([
  ['temporal version 1.0.0 (Server 1.24.2, UI 2.28.0)', false],
  ['temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)', true],
  ['temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)', true],
])('Temporal, by its server: the support of %s is %s', (output, expected) => {
  expect(inRange(serverVersion(output) ?? [], supported.temporalServer)).toBe(expected);
});

test.each([
  ['Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=6d95e1af3a2c082a', false],
  ['Redis server v=6.2.11 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64 build=f5b1f28871c566b4', true],
  ['Redis server v=8.2.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1234567890abcdef', true],
  ['Redis server v=9.0.0 sha=00000000:0 malloc=libc bits=64 build=1', false],
  ['redis-server: command 7 not understood', false],
])('Redis: the support of %s is %s', (output, expected) => {
  expect(inRange(redisVersion(output) ?? [], supported.redis)).toBe(expected);
});

test.each([
  ['openjdk version "17.0.15" 2025-04-15', true],
  ['openjdk version "11.0.2" 2019-01-15', false],
  ['java version "1.8.0_401"', false],
  ['openjdk version "21" 2023-09-19', true],
])('Java: the support of %s is %s', (output, expected) => {
  expect(inRange(parseVersion(output) ?? [], supported.java)).toBe(expected);
});

test('numbers are compared as numbers, and missing parts count as zero', () => {
  expect(compareVersions([1, 10], [1, 9])).toBeGreaterThan(0);
  expect(compareVersions([3, 7], [3, 7, 0])).toBe(0);
});

test('a range without an upper bound shows only its lower bound', () => {
  expect(describeRange(supported.java)).toBe('17 or later');
  expect(describeRange(supported.kafka)).toBe('3.7 or later, below 5');
});
