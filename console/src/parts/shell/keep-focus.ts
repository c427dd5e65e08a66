/** What takes the keyboard. */
const TAKES = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

const listTakers = (root: Node | null): HTMLElement[] =>
  !(root instanceof Element && root.isConnected)
    ? []
    : [...root.querySelectorAll<HTMLElement>(TAKES)].filter(
        (one) => one.checkVisibility() && !one.matches(':disabled'),
      );

/**
 * When what has the keyboard goes, with its row, its card or its button, the keyboard would be at the top of the page. It
 * goes to what came in its place, or to the same place of the next row.
 * @returns what ends that
 */
export function keepFocus(root: HTMLElement): () => void {
  let last: HTMLElement | undefined;
  let heir: HTMLElement | undefined;
  const note = ({ target }: FocusEvent) => {
    if (target instanceof HTMLElement && root.contains(target)) last = target;
  };
  const observer = new MutationObserver((records) => {
    const gone = records.find(({ removedNodes }) =>
      [...removedNodes].some((node) => last && node.contains(last)),
    );
    if (last === undefined || gone === undefined || root.contains(last)) return;
    heir = findHeir(records, gone, last);
    last = undefined;
    // A dialog that closes, or a view that comes, places the keyboard itself.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) (heir ?? root).focus({ preventScroll: true });
    });
  });
  document.addEventListener('focusin', note);
  observer.observe(root, { childList: true, subtree: true });
  return () => {
    document.removeEventListener('focusin', note);
    observer.disconnect();
  };
}

function findHeir(
  records: MutationRecord[],
  gone: MutationRecord,
  last: HTMLElement,
): HTMLElement | undefined {
  const came = records.flatMap(({ target, addedNodes }) => (target === gone.target ? [...addedNodes] : []));
  const removed = [...gone.removedNodes].find((node) => node.contains(last)) as Element;
  const all = [...removed.querySelectorAll(TAKES)];
  // A row has its own button last, behind those of the rows within it.
  const fromEnd = all.length - all.indexOf(last);
  return (
    came.map((node) => listTakers(node)[0]).find(Boolean) ??
    [gone.nextSibling, gone.previousSibling, gone.target]
      .map((node) => listTakers(node))
      .map((takers) => takers.at(-fromEnd) ?? takers.at(-1))
      .find(Boolean)
  );
}
