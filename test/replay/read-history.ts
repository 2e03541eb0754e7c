import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

interface Root {
  lookupType(name: string): unknown;
}

interface ProtoJson {
  readonly fromJson: (
    type: unknown,
    json: unknown,
    options: { readonly ignoreUnknownFields: boolean },
  ) => unknown;
}

const load = createRequire(import.meta.url);
// The SDK's own reader requires types and parser from one copy of protobufjs, and npm may install several. So the parser
// is taken from beside the types.
const besideProto = createRequire(load.resolve('@temporalio/proto'));
const { fromJson } = besideProto('protobufjs/ext/protojson') as ProtoJson;
const historyType = (load('@temporalio/proto') as Root).lookupType('temporal.api.history.v1.History');

/** A workflow history from the JSON that `temporal workflow show --output json` prints. */
export async function readHistory(file: string): Promise<unknown> {
  return fromJson(historyType, JSON.parse(await readFile(file, 'utf8')), { ignoreUnknownFields: true });
}
