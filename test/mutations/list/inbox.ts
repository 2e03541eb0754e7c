import type { Mutation } from '../mutation.ts';

const effectOnce = 'Effect once (I4)';
const hostile = 'Hostile messages are refused in words (F28)';
const killer = 'A message that kills its consumer is parked after three deaths';
const filter = 'The fast filter loses nothing';

/** A message arrives and is handled. */
export const inboxMutations: readonly Mutation[] = [
  {
    name: 'id-noted-before-its-effects',
    promise: effectOnce,
    file: 'src/inbox/applier.ts',
    find: 'const arrivals = await receive(sql, this.#options.group, messages, this.#options.idleMs);\n',
    replace: `const arrivals = await this.#options.client.$transaction((own) =>
        receive(sqlOf(own), this.#options.group, messages, this.#options.idleMs),
      );\n`,
    test: 'test/integration/inbox-effect-once.test.ts',
    title: 'a handler that throws leaves neither effect nor id',
  },
  {
    name: 'filter-that-fails-has-seen',
    promise: filter,
    file: 'src/inbox/seen-filter.ts',
    find: '      } catch {\n        return nothing;',
    replace: '      } catch {\n        return new Set(ids);',
    test: 'test/unit/inbox/seen-filter.test.ts',
    title: 'a filter that throws or rejects has seen nothing',
  },
  {
    name: 'filter-noted-before-the-commit',
    promise: filter,
    file: 'src/inbox/message-intake.ts',
    find: '    const settled = await settle();\n',
    replace: '    await this.#noted([message]);\n    const settled = await settle();\n',
    test: 'test/integration/inbox-filter.test.ts',
    title: 'ids are told to the filter only when their effects are committed',
  },
  {
    name: 'broken-text-let-through',
    promise: hostile,
    file: 'src/inbox/parse-body.ts',
    find: 'if (!isUtf8(body)) throw',
    replace: 'if (body.length < 0 && !isUtf8(body)) throw',
    test: 'test/unit/inbox/hostile-messages.test.ts',
    title: 'half a surrogate pair is no UTF-8',
  },
  {
    name: 'marks-never-written',
    promise: killer,
    file: 'src/store/inbox/marks.ts',
    find: 'select $1, $2, $3, $4::uuid, $5, $6, $7 from quick',
    replace: 'select $1, $2, $3, $4::uuid, $5, $6, $7 from quick where false',
    test: 'test/integration/inbox-marks.test.ts',
    title: 'a message that was in hand alone when its consumer died, once too often',
  },
];
