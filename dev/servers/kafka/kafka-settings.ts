/** One broker of a cluster. */
export interface BrokerPlan {
  /** Counted from 1; node 1 is also the controller. */
  readonly nodeId: number;
  readonly port: number;
  readonly controllerPort: number;
  readonly brokers: number;
  /** Where it listens. @defaultValue 127.0.0.1 */
  readonly listenHost?: string;
  readonly logFolder: string;
}

/** The settings of a KRaft broker, by their names in `server.properties`. */
export function brokerSettings(plan: BrokerPlan): Readonly<Record<string, string>> {
  const isController = plan.nodeId === 1;
  const client = `PLAINTEXT://${plan.listenHost ?? '127.0.0.1'}:${plan.port}`;
  const controller = `CONTROLLER://127.0.0.1:${plan.controllerPort}`;
  const replicas = String(Math.min(3, plan.brokers));
  return {
    'process.roles': isController ? 'broker,controller' : 'broker',
    'node.id': String(plan.nodeId),
    'controller.quorum.voters': `1@127.0.0.1:${plan.controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: isController ? `${client},${controller}` : client,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${plan.port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': plan.logFolder,
    // A mistyped topic name must fail, not create a topic with a single partition.
    'auto.create.topics.enable': 'false',
    'group.initial.rebalance.delay.ms': '0',
    // Internal topics stay writable while one of three brokers is up, and have few partitions for a quick start.
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': '5',
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '5',
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': '1',
    // A killed broker is fenced, and can register again, after 6 s instead of 9.
    'broker.session.timeout.ms': '6000',
    'broker.heartbeat.interval.ms': '1000',
  };
}

/** The settings as the text of a properties file. */
export function propertiesText(settings: Readonly<Record<string, string>>): string {
  // A backslash is the escape character of properties files.
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}`);
  return `${lines.join('\n')}\n`;
}

/** The settings as environment variables of the apache/kafka image. */
export function containerEnvironment(
  settings: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]),
  );
}
