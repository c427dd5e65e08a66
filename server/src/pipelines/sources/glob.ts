/**
 * Patterns for paths: `*` matches any part of one name, `?` one character, and `**` any number of folders. A pattern
 * never becomes a regular expression, so the time is bounded by the length of the pattern times the length of the path.
 */

/** Longer patterns are mistakes. */
export const GLOB_LENGTH = 255;
const GLOB_NAMES = 16;

/** The positions in a pattern that the previous names can have reached. */
export type GlobState = ReadonlySet<number>;

export type Glob = ReturnType<typeof compileGlob>;

/** @returns the problem of a pattern, for the details of a refusal; undefined if it has none */
export function globProblem(pattern: string): string | undefined {
  const names = pattern.split('/');
  const hasWildName = names.some((name) => name !== '**' && name.includes('**'));
  const problems: [isWrong: boolean, rule: string][] = [
    [pattern === '' || pattern.length > GLOB_LENGTH, `has 1 to ${GLOB_LENGTH} characters`],
    [names.length > GLOB_NAMES, `has at most ${GLOB_NAMES} names`],
    [/[\0\\]/.test(pattern), 'must use / and not \\'],
    [pattern.startsWith('/'), 'must not begin with /, because it is a path below the folder of the project'],
    [names.some((name) => ['', '.', '..'].includes(name)), 'must not contain an empty name, . or ..'],
    [hasWildName || names.at(-1) === '**', 'may use ** only for whole folders, such as **/*.csv'],
  ];
  const violation = problems.find(([isWrong]) => isWrong);
  return violation && `A pattern ${violation[1]}`;
}

/** @param pattern has passed `globProblem` */
export function compileGlob(pattern: string) {
  const names = pattern.normalize('NFC').split('/');
  const start = withFolders(names, [0]);

  /** @returns undefined if nothing below this name can match */
  function step(state: GlobState, name: string): GlobState | undefined {
    const plain = name.normalize('NFC');
    const next = [...state].flatMap((position) => stepOne(names[position], position, plain));
    return next.length === 0 ? undefined : withFolders(names, next);
  }

  const isMatch = (state: GlobState) => state.has(names.length);
  /** @param path is written with `/` on every system */
  function matches(path: string): boolean {
    let state: GlobState | undefined = start;
    for (const name of path.split('/')) {
      state = step(state, name);
      if (state === undefined) return false;
    }
    return isMatch(state);
  }
  return { start, step, isMatch, matches };
}

function stepOne(segment: string | undefined, position: number, name: string): number[] {
  if (segment === '**') return name.startsWith('.') ? [] : [position];
  return segment !== undefined && matchesName(segment, name) ? [position + 1] : [];
}

/** `**` may also match no folder. */
function withFolders(names: readonly string[], states: readonly number[]): GlobState {
  const all = new Set(states);
  for (const position of all) if (names[position] === '**') all.add(position + 1);
  return all;
}

/** A name that begins with a dot is hidden. Uploads in progress often have such names. */
function matchesName(segment: string, name: string): boolean {
  if (name.startsWith('.') && !segment.startsWith('.')) return false;
  const [first = '', ...pieces] = segment.split('*');
  const last = pieces.pop();
  if (last === undefined) return name.length === first.length && fits(first, name, 0);
  const end = name.length - last.length;
  if (first.length > end || !fits(first, name, 0) || !fits(last, name, end)) return false;
  // The earliest match leaves the most room for the remaining pieces, so no later match has to be tried.
  let offset = first.length;
  for (const piece of pieces) {
    while (offset + piece.length <= end && !fits(piece, name, offset)) offset++;
    offset += piece.length;
  }
  return offset <= end;
}

function fits(piece: string, name: string, offset: number): boolean {
  for (let index = 0; index < piece.length; index++) {
    if (piece[index] !== '?' && piece[index] !== name[offset + index]) return false;
  }
  return true;
}
