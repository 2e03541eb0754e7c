import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

// A process may load the package twice, and what one copy makes is given to the other: see src/core/shared.ts.

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => path.join('src', name))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));

/** Registries of objects that never leave the copy that made them, and why. */
const ownRegistries: Readonly<Record<string, string>> = {
  'src/api/remote-address.ts': 'a request of its own server',
  'src/brokers/kafka/client/fetch-response.ts': 'an answer of its own connection',
  'src/relay/rate-gate.ts': 'the database of its own relay',
  'src/store/lane/blocking-looks.ts': 'a lane of its own relay',
  'src/store/lane/lane-row.ts': 'a lane of its own relay',
  'src/telemetry/meter.ts': 'counters of its own tables of metrics',
};

/** Classes whose objects are made, thrown and caught within one copy. */
const ownClasses = new Set(
  `AnswerEnd BlocksKey ChangeGone Denied EncodingFailure FetchedRecord GivenUp LateReply MethodRefused Misfit NoAnswer NoConnection OldFormat
   Refused RefusedRequest Rehearsed StartFailure Unanswered UnfitTopic UpcastFailure`.split(/\s+/),
);

test('a registry of objects that users pass on is shared by all copies', () => {
  const found = sources.filter(({ text }) =>
    /^(?:export )?(?:const|let) [^\n]*= new Weak(?:Map|Set)/m.test(text),
  );
  expect(found.map(({ file }) => file).toSorted()).toEqual(Object.keys(ownRegistries).toSorted());
});

test('no name of a shared registry or brand is used twice', () => {
  const names = sources.flatMap(({ text }) =>
    [...text.matchAll(/\b(?:shared|brand(?:<\w+>)?)\('([\w-]+)'/g)].map(([, name]) => name),
  );
  expect(names.length).toBeGreaterThan(10);
  expect(names).toEqual([...new Set(names)]);
});

test('instanceof asks for no class of the package but OutboxError, which has a brand, and those that stay within a copy', () => {
  const classes = new Set(
    sources.flatMap(({ text }) => [...text.matchAll(/\bclass (\w+)/g)].map(([, name]) => name)),
  );
  const asked = sources.flatMap(({ text }) =>
    [...text.matchAll(/ instanceof (\w+)/g)].map(([, name]) => name),
  );
  const own = new Set(asked.filter((name) => classes.has(name) && name !== 'OutboxError'));
  expect(own).toEqual(ownClasses);
});
