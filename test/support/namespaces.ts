import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { inject } from 'vitest';
import { until } from './until.ts';

/** Makes a namespace without search attributes, and waits until workflows can be started in it. */
export async function registerNamespace(namespace: string): Promise<void> {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    // Other parts of the server learn of it with a delay.
    await until(async () => {
      await connection.workflowService.countWorkflowExecutions({ namespace });
      return true;
    });
  } finally {
    await connection.close();
  }
}

/** Deletes a namespace with all that is in it. Its name is free at once, the rest follows. */
export async function deleteNamespace(namespace: string): Promise<void> {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  try {
    await connection.operatorService.deleteNamespace({ namespace });
  } finally {
    await connection.close();
  }
}
