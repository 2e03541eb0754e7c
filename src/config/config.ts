import { z } from 'zod';
import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { resolveRetention, type Retention } from '../core/retention.ts';
import type { Topic } from '../core/topic.ts';
import type { Transport } from '../transports/transport.ts';
import { type RelaySettings, resolveRelaySettings } from './relay-settings.ts';

/** Where things are, what is sent, and by which transports. */
export interface Config {
  /** The database in which messages are stored and delivered from. */
  readonly database: {
    /** `postgresql://user:password@host:port/database` */
    readonly url: string;
    /**
     * Most connections of one relay beside its session; its lanes share them. @defaultValue the lanes of the configuration
     * + 6, or the lanes that it drains + 6 where those have become more
     */
    readonly connections?: number;
  };
  /** The server that supervises delivery. */
  readonly temporal: {
    /** `host:port`. @defaultValue `localhost:7233` */
    readonly address?: string;
    /** @defaultValue `default` */
    readonly namespace?: string;
    /** Where its UI is, for links of `show`. @defaultValue `http://localhost:8233` where Temporal is at `localhost:7233` */
    readonly ui?: string;
  };
  /** Every topic that this relay delivers or this consumer handles. */
  readonly topics: readonly Topic[];
  /** By the name that topics use. */
  readonly transports: Readonly<Record<string, Transport>>;
  /** Durations and limits of the relay. @defaultValue see {@link RelaySettings} */
  readonly relay?: RelaySettings;
  /** How long finished messages and what belongs to them are kept. @defaultValue see {@link Retention} */
  readonly retention?: Retention;
}

const isTopic = (value: unknown): value is Topic =>
  typeof value === 'object' && value !== null && 'rules' in value && 'schema' in value && 'name' in value;
const isTransport = (value: unknown): value is Transport =>
  typeof value === 'object' && value !== null && 'publish' in value && 'probe' in value && 'close' in value;

const duration = z.custom<Duration>(
  (value) => (typeof value === 'number' || typeof value === 'string') && isDuration(value),
  'is not a duration',
);

function isDuration(value: number | string): value is Duration {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- any text may be asked about
  return durationMs(value as Duration) !== undefined;
}

const shape = z.strictObject({
  database: z.strictObject({
    url: z.string().regex(/^postgres(ql)?:\/\//, 'is not a postgresql:// address'),
    connections: z.int().min(1).optional(),
  }),
  temporal: z.strictObject({
    address: z.string().min(1).optional(),
    namespace: z.string().min(1).optional(),
    ui: z
      .string()
      .regex(/^https?:\/\//, 'is not an http:// address')
      .optional(),
  }),
  topics: z.array(z.custom<Topic>(isTopic, 'is not a topic made by topic()')).min(1),
  transports: z.record(z.string().min(1), z.custom<Transport>(isTransport, 'is not a transport')),
  relay: z
    .strictObject({
      batchMessages: z.number().optional(),
      batchBytes: z.number().optional(),
      run: duration.optional(),
      linger: duration.optional(),
      hotLook: duration.optional(),
      idleLook: duration.optional(),
      check: duration.optional(),
      probe: duration.optional(),
      reconcile: duration.optional(),
      archive: duration.optional(),
      scheduleCheck: duration.optional(),
    })
    .optional(),
  // Judged by resolveRetention, which names the option.
  retention: z.looseObject({}).optional(),
});

/**
 * Checks a configuration and returns it. Unknown keys are refused, because a misspelt one would be a setting that
 * does nothing.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID` naming every wrong setting, `OUTBOX_TRANSPORT_UNKNOWN`
 */
export function defineConfig(config: Config): Config {
  const result = shape.safeParse(config);
  if (!result.success) {
    const issues = result.error.issues.map((issue) => ({
      setting: issue.path.join('.') || '(whole)',
      problem: issue.message,
    }));
    throw new OutboxError(
      'OUTBOX_CONFIG_INVALID',
      `The configuration is wrong: ${issues.map((issue) => `${issue.setting} ${issue.problem}`).join('; ')}.`,
      {
        details: { issues },
      },
    );
  }
  const names = config.topics.map((topic) => topic.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new OutboxError('OUTBOX_CONFIG_INVALID', `The topic "${twice}" is defined twice.`, {
      details: { topic: twice },
    });
  for (const topic of config.topics) transportOf(config, topic);
  resolveRelaySettings(config.relay);
  resolveRetention(config.retention);
  return config;
}

/** The transport of a topic: the named one, else the only one there is, else `kafka`. */
export function transportOf(
  config: Pick<Config, 'transports'>,
  topic: Topic,
): { readonly name: string; readonly transport: Transport } {
  const names = Object.keys(config.transports);
  const name = topic.rules.transport ?? (names.length === 1 ? names[0] : 'kafka') ?? 'kafka';
  const transport = config.transports[name];
  if (transport !== undefined) return { name, transport };
  throw new OutboxError(
    'OUTBOX_TRANSPORT_UNKNOWN',
    `The topic "${topic.name}" wants the transport "${name}", which the configuration does not define.`,
    {
      details: { topic: topic.name, transport: name, known: names },
    },
  );
}

/**
 * The value of an environment variable.
 *
 * @throws OutboxError `OUTBOX_CONFIG_MISSING` when it is not set, or empty, and there is no fallback
 */
export function env(name: string, fallback?: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  if (fallback !== undefined) return fallback;
  throw new OutboxError('OUTBOX_CONFIG_MISSING', `The environment variable ${name} is not set.`, {
    details: { name },
  });
}
