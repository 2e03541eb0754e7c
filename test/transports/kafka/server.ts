import { startKafka } from '../../../dev/servers/index.ts';
import { type TestAuthority, testAuthority } from '../../support/fixtures/certificates.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** One broker that takes only TLS and passwords, and its CA. */
    secureKafka: { readonly brokers: string; readonly plain: string; readonly ca: string };
  }
}

interface Project {
  provide(key: 'secureKafka', value: { brokers: string; plain: string; ca: string }): void;
}

/** A vitest `globalSetup`: a broker with a listener for TLS and passwords besides the plain one. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const authority: TestAuthority = testAuthority('kafka');
  const kafka = await startKafka({
    env: { ...process.env, KAFKA_BROKERS: '' },
    secure: { ...authority.issue('127.0.0.1'), users: { alice: 'wonderland', carol: 'christmas' } },
  });
  project.provide('secureKafka', {
    brokers: kafka.secureBrokers.join(','),
    plain: kafka.brokers.join(','),
    ca: authority.ca,
  });
  return () => kafka.stop();
}
