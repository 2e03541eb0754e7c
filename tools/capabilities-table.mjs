/** Writes what each transport can do into docs/transports/README.md, from the capabilities that the transports declare. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const start = '<!-- capabilities: made of the transports by `npm run generated` -->\n';
const end = '<!-- /capabilities -->';

/** By the name of the page's row; nothing connects before it is used. */
const samples = {
  Kafka: ({ kafka }) => kafka({ servers: 'localhost:9092' }),
  RabbitMQ: ({ rabbitmq }) => rabbitmq({ url: 'amqp://localhost' }),
  'Redis streams': ({ redisStream }) => redisStream({ url: 'redis://localhost' }),
  'Redis lists': ({ redisList }) => redisList({ url: 'redis://localhost' }),
  'Redis channels': ({ redisPubSub }) => redisPubSub({ url: 'redis://localhost' }),
  RocketMQ: ({ rocketmq }) => rocketmq({ servers: 'localhost:8081', nameServers: 'localhost:9876' }),
  HTTP: ({ http }) => http({ secret: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz' }),
  Workflows: ({ workflow }) => workflow({ type: 'order', taskQueue: 'orders', id: ({ id }) => id }),
};

/** The columns: what a user gets, and the capabilities that it takes. */
const columns = {
  'received by consumers': (has) => has('source'),
  'created by `migrate --create`': (has) => has('topics'),
  'groups created by `--group`': (has) => has('groups'),
  'lag in `status`': (has) => has('offsets'),
  '`partitions`': (has) => has('offsets', 'partitionCount'),
  '`inbox rewind`': (has) => has('rewindGroup'),
  receipts: (has) => has('source', 'offsets'),
  '`verify` reads it': (has) => has('deliveryLog'),
  '`doctor` examines addresses': (has) => has('examine'),
  '`doctor` judges durability': (has) => has('examine') || has('durability'),
};

/** A row per transport, a column per use. */
export function capabilitiesTable(transports) {
  const names = Object.keys(columns);
  const rows = Object.entries(samples).map(([name, make]) => {
    const transport = make(transports);
    const has = (...capabilities) => capabilities.every((each) => transport[each] !== undefined);
    const cells = Object.values(columns).map((can) => (can(has) ? 'yes' : '–'));
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  return [`| | ${names.join(' | ')} |`, `|${' --- |'.repeat(names.length + 1)}`, ...rows, ''].join('\n');
}

/** The page with its table updated. */
export function withCapabilities(page, transports) {
  const from = page.indexOf(start) + start.length;
  return `${page.slice(0, from)}\n${capabilitiesTable(transports)}\n${page.slice(page.indexOf(end))}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const path = 'docs/transports/README.md';
  writeFileSync(
    path,
    withCapabilities(readFileSync(path, 'utf8'), await import('../dist/src/transports.js')),
  );
}
