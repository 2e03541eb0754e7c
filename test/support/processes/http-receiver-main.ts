import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';
import { clientOf, receiveNode } from '../../../src/http.ts';

/** A server that receives webhooks. */
export interface HttpReceiverSettings {
  readonly port: number;
  /** What it does with `receive`, in a table `effect (n, consumer)`. @defaultValue nothing: it accepts everything */
  readonly receives?: {
    readonly url: string;
    readonly secret: string;
    /** Written with each of its effects. */
    readonly name: string;
    /** The answer, from 1, in place of which the process kills itself. @defaultValue none */
    readonly dieAtAnswer?: number;
  };
}

const { port, receives } = JSON.parse(process.argv[2] ?? '') as HttpReceiverSettings;
const pool = new pg.Pool({ connectionString: receives?.url });
let answers = 0;

/** Applies a message, and may die with its effect committed and nothing said. */
async function apply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (receives === undefined) {
    request.resume().once('end', () => response.writeHead(204).end());
    return;
  }
  answers += 1;
  if (answers === receives.dieAtAnswer)
    response.writeHead = () => {
      process.kill(process.pid, 'SIGKILL');
      return response;
    };
  const { secret, name } = receives;
  const options = { client: clientOf(pool), group: 'inventory', secret, report: () => undefined };
  await receiveNode(request, response, options, async (tx, { payload }) => {
    const { n } = payload as { readonly n: number };
    await tx.query('insert into effect (n, consumer) values ($1, $2)', [n, name]);
  });
}

createServer((request, response) => {
  apply(request, response).catch(() => response.destroy());
}).listen(port, '127.0.0.1', () => void process.stdout.write('listening\n'));
