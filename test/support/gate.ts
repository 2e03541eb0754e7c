/** A promise that is resolved from outside: lets a test hold one transaction open while it looks at another. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A gate that opens at the end of the test at the latest, so that one that fails leaves no transaction open. */
export function heldGate({
  onTestFinished,
}: {
  readonly onTestFinished: (work: () => void) => void;
}): ReturnType<typeof gate> {
  const made = gate();
  onTestFinished(() => made.open());
  return made;
}
