import type { Admin } from 'kafkajs';
import { type KafkaConnection, kafkaClient } from './connection.ts';

const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 };

/** Asks the brokers over a connection that lives for this question only: open ones cost more than they save. */
export async function askBrokers<Answer>(
  connection: KafkaConnection,
  question: (admin: Admin) => Promise<Answer>,
): Promise<Answer> {
  const admin = kafkaClient(connection, { retry }).admin();
  try {
    await admin.connect();
    return await question(admin);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
