import { TestWorkflowEnvironment } from '@temporalio/testing';
import { type ActivityInboundCallsInterceptor, DefaultLogger, Runtime } from '@temporalio/worker';
import type { WorkerExtras } from 'temporal-outbox/relay';
import type { PrismaClient } from '../generated/client.ts';

/**
 * Starts Temporal's server that skips time. `TEMPORAL_TEST_SERVER` is the path of its program; without it the SDK downloads
 * one.
 */
export function skippingServer(): Promise<TestWorkflowEnvironment> {
  Runtime.install({
    logger: new DefaultLogger('WARN'),
    telemetryOptions: { logging: { filter: 'ERROR' } },
  });
  const path = process.env['TEMPORAL_TEST_SERVER'];
  if (path === undefined) return TestWorkflowEnvironment.createTimeSkipping();
  return TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}

/** Has the outbox's clock run ahead by what the server has skipped: the database decides what is due. */
export async function followTime(
  prisma: PrismaClient,
  server: TestWorkflowEnvironment,
): Promise<WorkerExtras> {
  await prisma.$executeRaw`create table skipped (by interval not null)`;
  await prisma.$executeRaw`insert into skipped values ('0')`;
  await prisma.$executeRaw`create or replace function outbox.clock() returns timestamptz language sql stable
    as 'select now() + (select by from public.skipped)'`;
  const inbound: ActivityInboundCallsInterceptor = {
    async execute(input, next) {
      const skippedMs = (await server.currentTimeMs()) - Date.now();
      await prisma.$executeRaw`update skipped set by = greatest(by, ${skippedMs} * interval '1 ms')`;
      return next(input);
    },
  };
  return { interceptors: { activity: [() => ({ inbound })] } };
}
