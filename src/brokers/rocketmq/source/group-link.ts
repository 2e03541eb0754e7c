import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import type { Settings } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js';
import type { TelemetryCommand } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb.js';
import { startTimer } from '../../../core/timer.ts';
import { clientLibrary } from '../client/client-library.ts';
import { NoAnswer } from '../client/failure.ts';
import { protocolDuration } from '../client/protocol-duration.ts';
import { assertDone, type Proxies } from '../client/proxies.ts';
import { endpointsOf, resource } from '../client/route.ts';

const heartbeatEveryMs = 10_000;
const againMs = 1_000;

/** The settings of a group, as reported by a proxy. */
export interface GroupSettings {
  /** Whether the broker delivers each queue in order to the group. */
  readonly ordered: boolean;
  /** After so many deliveries without an acknowledgement a message goes to the group's dead letters; 0 if unknown. */
  readonly maxAttempts: number;
}

/**
 * The telemetry stream that registers a member of a group at a proxy; without it nothing can be received. A broken stream
 * is reopened without limit, and heartbeats keep the member registered at the broker.
 */
export class GroupLink {
  readonly #proxies: Proxies;
  readonly #endpoint: string;
  readonly #group: string;
  readonly #topics: readonly string[];
  readonly #heartbeat: NodeJS.Timeout;
  #stream: ClientDuplexStream<TelemetryCommand, TelemetryCommand> | undefined;
  #again: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(proxies: Proxies, endpoint: string, group: string, topics: readonly string[]) {
    this.#proxies = proxies;
    this.#endpoint = endpoint;
    this.#group = group;
    this.#topics = topics;
    this.#heartbeat = setInterval(() => void this.#beat(), heartbeatEveryMs);
  }

  /**
   * Opens the stream, keeps it open, and resolves with the first settings.
   *
   * @throws NoAnswer, RefusedRequest, or an Error if no settings arrive in time or the proxy ends the stream
   */
  open(): Promise<GroupSettings> {
    return new Promise((resolve, reject) => {
      let settled = false;
      const timer = startTimer(
        () => fail(new Error(`${this.#endpoint} sent no settings in time`)),
        this.#timeoutMs,
      );
      const end = (): void => {
        settled = true;
        clearTimeout(timer);
      };
      const fail = (error: unknown): void => {
        if (settled) return;
        end();
        reject(error);
      };
      this.#connect({
        settings(settings) {
          if (settled) return;
          end();
          resolve({
            ordered: settings.getSubscription()?.getFifo() ?? false,
            maxAttempts: settings.getBackoffPolicy()?.getMaxAttempts() ?? 0,
          });
        },
        failed: fail,
      });
    });
  }

  /** Unregisters the member at the proxy, and ends the stream. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#again);
    const { requests } = clientLibrary();
    const request = new requests.NotifyClientTerminationRequest().setGroup(
      resource(this.#proxies, this.#group),
    );
    const bye = this.#proxies.ask(this.#endpoint, (client, metadata, options, done) =>
      client.notifyClientTermination(request, metadata, options, done),
    );
    await bye.catch(() => undefined);
    this.#stream?.end();
    this.#stream?.cancel();
  }

  get #timeoutMs(): number {
    return this.#proxies.connection.requestTimeoutMs;
  }

  #connect(told?: { settings(settings: Settings): void; failed(error: unknown): void }): void {
    const stream = this.#proxies.client(this.#endpoint).telemetry(this.#proxies.metadata());
    this.#stream = stream;
    let over = false;
    const broken = (error: unknown): void => {
      if (over) return;
      over = true;
      told?.failed(error);
      if (this.#closed || this.#stream !== stream) return;
      clearTimeout(this.#again);
      this.#again = startTimer(() => {
        if (!this.#closed) this.#connect();
      }, againMs);
    };
    stream.on('data', (command: TelemetryCommand) => {
      const settings = command.getSettings();
      if (settings !== undefined) return told?.settings(settings);
      try {
        assertDone(command.getStatus());
      } catch (error) {
        told?.failed(error);
      }
    });
    stream.on('error', (error: ServiceError) => broken(new NoAnswer(this.#endpoint, error)));
    stream.on('end', () => broken(new Error(`${this.#endpoint} ended the stream of the group`)));
    stream.write(this.#settingsCommand());
  }

  #settingsCommand(): TelemetryCommand {
    const { definitions, requests } = clientLibrary();
    const { requestTimeoutMs } = this.#proxies.connection;
    const all = new definitions.FilterExpression().setType(definitions.FilterType.TAG).setExpression('*');
    const entries = this.#topics.map((topic) =>
      new definitions.SubscriptionEntry().setTopic(resource(this.#proxies, topic)).setExpression(all),
    );
    const subscription = new definitions.Subscription()
      .setGroup(resource(this.#proxies, this.#group))
      .setSubscriptionsList(entries);
    const settings = new definitions.Settings()
      .setClientType(definitions.ClientType.SIMPLE_CONSUMER)
      .setAccessPoint(endpointsOf(this.#endpoint))
      .setRequestTimeout(protocolDuration(requestTimeoutMs))
      .setSubscription(subscription)
      .setUserAgent(new definitions.UA().setLanguage(definitions.Language.NODE_JS).setVersion('5.0.0'));
    return new requests.TelemetryCommand().setSettings(settings);
  }

  async #beat(): Promise<void> {
    const { definitions, requests } = clientLibrary();
    const request = new requests.HeartbeatRequest()
      .setGroup(resource(this.#proxies, this.#group))
      .setClientType(definitions.ClientType.SIMPLE_CONSUMER);
    // A missed heartbeat does no harm, and receiving reports an outage.
    await this.#proxies
      .ask(this.#endpoint, (client, metadata, options, done) =>
        client.heartbeat(request, metadata, options, done),
      )
      .catch(() => undefined);
  }
}
