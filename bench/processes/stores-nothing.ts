/** For processes that only read what others store. @throws Error */
export async function storesNothing(): Promise<void> {
  throw new Error('It stores nothing.');
}
