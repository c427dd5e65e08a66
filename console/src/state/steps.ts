/** Where each step of the history was scrolled to: the page, and the list that scrolls within it. */

interface Place {
  readonly page: number;
  readonly list: number;
}

const TOP: Place = { page: 0, list: 0 };
const STORED = 'relata-places';
/** What scrolls within a page. */
const LIST = '.grid-scroll';
/** A list that has not come by then is not waited for any more. */
const PATIENCE_MS = 5_000;

const readStep = (): string | undefined => history.state?.step;

const places = readPlaces();
let step = readStep() ?? begin();
/** Undefined for a new step. */
let arrival = places.get(step);

// The browser would scroll before there is anything to scroll to.
history.scrollRestoration = 'manual';
addEventListener('pagehide', () => {
  keep();
  sessionStorage.setItem(STORED, JSON.stringify([...places].slice(-100)));
});

function readPlaces(): Map<string, Place> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(STORED) ?? '[]'));
  } catch {
    // Only the way back to places in lists is lost.
    return new Map();
  }
}

function begin(): string {
  const name = Math.random().toString(36).slice(2);
  history.replaceState({ step: name }, '');
  return name;
}

function keep(): void {
  places.set(step, { page: scrollY, list: document.querySelector(LIST)?.scrollTop ?? 0 });
}

/** Adds a step to the history. */
export function startStep(link: string): void {
  history.pushState(null, '', link);
}

/** Called when another step of the history is shown, before its view is. */
export function noteStep(): void {
  const next = readStep();
  if (next === step) return;
  keep();
  step = next ?? begin();
  arrival = places.get(step);
}

/** Scrolls a view that is shown to where it was when it was left, or to its top. @returns what ends that */
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
  // A user who scrolls by then stays there.
  for (const type of ['wheel', 'pointerdown', 'keydown'])
    addEventListener(type, () => ended.abort(), { signal });
  return () => ended.abort();
}
