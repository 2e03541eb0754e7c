interface TaggedTest {
  readonly path: string;
  readonly title: string;
  readonly tags: readonly string[];
}

export function taggedTests(folder: string): readonly TaggedTest[];
export function proofsPage(promises: Readonly<Record<string, string>>, tests: readonly TaggedTest[]): string;
