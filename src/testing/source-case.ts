import type { SourceFixture } from './source-fixture.ts';
import type { SourceAbility } from './source-subject.ts';

/** A case before it knows its subject. */
export interface SourceCase {
  readonly name: string;
  readonly needs: readonly SourceAbility[];
  run(fixture: SourceFixture): Promise<void>;
}
