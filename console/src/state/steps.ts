/** The scroll position of a history entry: of the page, and of the list that scrolls within it. */

interface Place {
  readonly page: number;
  readonly list: number;
}

const TOP: Place = { page: 0, list: 0 };
const STORED = 'relata-places';
/** The scrolling element within a page. */
const LIST = '.grid-scroll';
/** The longest wait for a list to appear. */
const PATIENCE_MS = 5_000;

const readStep = (): string | undefined => history.state?.step;

const positions = readPlaces();
let step = readStep() ?? begin();
/** Undefined for a new history entry. */
let arrival = positions.get(step);

// The browser would scroll before there is anything to scroll to.
history.scrollRestoration = 'manual';
addEventListener('pagehide', () => {
  keep();
  sessionStorage.setItem(STORED, JSON.stringify([...positions].slice(-100)));
});

function readPlaces(): Map<string, Place> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(STORED) ?? '[]'));
  } catch {
    // Without storage, only the positions in lists are lost.
    return new Map();
  }
}

function begin(): string {
  const name = Math.random().toString(36).slice(2);
  history.replaceState({ step: name }, '');
  return name;
}

function keep(): void {
  positions.set(step, { page: scrollY, list: document.querySelector(LIST)?.scrollTop ?? 0 });
}

/** Adds a history entry. */
export function startStep(link: string): void {
  history.pushState(null, '', link);
}

/** Called when the browser shows another history entry, before its view renders. */
export function noteStep(): void {
  const next = readStep();
  if (next === step) return;
  keep();
  step = next ?? begin();
  arrival = positions.get(step);
}

/** Scrolls a view to where it was when it was left, or to its top. @returns a function that ends this */
export function restorePlace(): () => void {
  const { page, list: top } = arrival ?? TOP;
  const ended = new AbortController();
  const { signal } = ended;
  const until = performance.now() + PATIENCE_MS;
  const scroll = () => {
    scrollTo(0, page);
    const list = document.querySelector(LIST);
    if (list) list.scrollTop = top;
    const isThere = Math.abs(scrollY - page) < 2 && (list?.scrollTop ?? 0) > top - 2;
    if (!isThere && !signal.aborted && performance.now() < until) requestAnimationFrame(scroll);
  };
  scroll();
  // If the user has scrolled by then, the position stays.
  for (const type of ['wheel', 'pointerdown', 'keydown'])
    addEventListener(type, () => ended.abort(), { signal });
  return () => ended.abort();
}
