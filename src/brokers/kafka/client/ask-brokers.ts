import type { Admin } from 'kafkajs';
import { type KafkaConnection, kafkaClient } from './connection.ts';

const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 };

/** Queries the brokers over a connection that is opened only for this: keeping it open would cost more than it saves. */
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
