import type { Admin, KafkaConfig } from 'kafkajs';
import { kafkajs } from './kafkajs.ts';
import type { KafkaConnection } from './membership.ts';

const connectionTimeoutMs = 3_000;

/** Asks the brokers over a connection that lives for this question only: open ones cost more than they save. */
export async function askBrokers<Answer>(
  { brokers, clientId, ssl, sasl, requestTimeoutMs, logger }: KafkaConnection,
  question: (admin: Admin) => Promise<Answer>,
): Promise<Answer> {
  const { Kafka, logLevel } = kafkajs();
  const config: KafkaConfig = {
    brokers: [...brokers],
    clientId,
    connectionTimeout: Math.min(connectionTimeoutMs, requestTimeoutMs),
    logLevel: logger === undefined ? logLevel.NOTHING : logLevel.WARN,
    requestTimeout: requestTimeoutMs,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    ssl,
  };
  if (sasl !== undefined) config.sasl = sasl;
  if (logger !== undefined) config.logCreator = logger;
  const admin = new Kafka(config).admin();
  try {
    await admin.connect();
    return await question(admin);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
