import { ServiceError } from '../../kernel/errors.ts';
import { isStorableText } from '../../kernel/storable-text.ts';

/** Reads lists of links, a line for each source. Pure. Source: docs/interface.md §12.8. */

export interface LinkLine {
  readonly source: string;
  /** Of a change none: the source is removed. */
  readonly targets: readonly string[];
}

export const LINES_PER_LIST = 1_000_000;
export const TARGETS_PER_SOURCE = 1_000;
/** 1,000 identifiers of 255 characters, each up to four bytes, or six where it is escaped. */
const LINE_BYTES = 2 * 1024 * 1024;
const TOO_LONG = `must not be longer than ${LINE_BYTES} bytes`;
const IDENTIFIER_LENGTH = 255;
/** A refusal lists at most so many mistakes. */
const SHOWN = 20;
const NEW_LINE = 10;

/** Takes chunks of a list and gives its lines. */
export class LinkReader {
  private readonly take: (line: LinkLine) => void;
  private rest: Uint8Array[] = [];
  private restBytes = 0;
  private line = 0;
  private found = 0;
  private readonly problems: string[] = [];
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });

  constructor(take: (line: LinkLine) => void) {
    this.take = take;
  }

  /** @throws request_invalid */
  add(chunk: Uint8Array): void {
    let from = 0;
    for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE, from)) {
      this.endLine(chunk.subarray(from, end));
      from = end + 1;
    }
    this.keep(chunk.subarray(from));
  }

  /** @throws request_invalid, also for a list without a line */
  end(): void {
    // A list that ends with a line break has no further line.
    if (this.restBytes > 0) this.endLine(new Uint8Array());
    if (this.found === 0 && this.problems.length === 0)
      this.problems.push('the body must hold at least one line, {"source":"A1","targets":["B1"]}');
    if (this.problems.length > 0) this.refuse();
  }

  private keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.restBytes += part.length;
    if (this.restBytes > LINE_BYTES) {
      this.line += 1;
      this.stop(TOO_LONG);
    }
    // The chunk may be used again by its owner.
    this.rest.push(part.slice());
  }

  private endLine(part: Uint8Array): void {
    const bytes = this.rest.length === 0 ? part : Buffer.concat([...this.rest, part]);
    this.rest = [];
    this.restBytes = 0;
    this.line += 1;
    if (this.line > LINES_PER_LIST) this.stop(`is one more than ${LINES_PER_LIST}, which a list may have`);
    if (bytes.length > LINE_BYTES) this.stop(TOO_LONG);
    for (const problem of this.read(bytes)) this.note(problem);
    if (this.problems.length >= SHOWN) this.refuse();
  }

  private note(problem: string): void {
    this.problems.push(`line ${this.line}${problem.startsWith('/') ? ':' : ''} ${problem}`);
  }

  /** What follows is not read. */
  private stop(problem: string): never {
    this.note(problem);
    this.refuse();
  }

  /** @returns what is wrong with the line */
  private read(bytes: Uint8Array): string[] {
    let value: unknown;
    try {
      const text = this.decoder.decode(bytes);
      if (text.trim() === '') return [];
      value = JSON.parse(text);
    } catch (error) {
      // Neither UTF-8 nor JSON: the line is named in the refusal, with all others.
      return [`is not JSON: ${(error as Error).message.slice(0, 200)}`];
    }
    this.found += 1;
    if (this.found > LINES_PER_LIST) return [`is one more than ${LINES_PER_LIST}, which a list may have`];
    const problems = listLinkProblems(value);
    if (problems.length === 0) this.take(value as LinkLine);
    return problems;
  }

  private refuse(): never {
    throw new ServiceError('request_invalid', { details: this.problems.slice(0, SHOWN) });
  }
}

/** @returns what is wrong with a line, by JSON pointers */
function listLinkProblems(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return ['must be an object, {"source":"A1","targets":["B1"]}'];
  const { source, targets, ...others } = value as Partial<Record<string, unknown>>;
  const unknown = Object.keys(others).map(
    (name) => `/${name.slice(0, 100)} is not known, a line has source and targets`,
  );
  return [...unknown, ...listIdentifierProblem('/source', source), ...listTargetProblems(targets)];
}

function listTargetProblems(targets: unknown): string[] {
  if (!Array.isArray(targets)) return ['/targets must be a list of identifiers'];
  if (targets.length > TARGETS_PER_SOURCE)
    return [`/targets must not hold more than ${TARGETS_PER_SOURCE} identifiers, it holds ${targets.length}`];
  return targets.flatMap((target, at) => listIdentifierProblem(`/targets/${at}`, target));
}

function listIdentifierProblem(path: string, value: unknown): string[] {
  const isRight = typeof value === 'string' && value.length > 0 && isShort(value) && isStorableText(value);
  return isRight ? [] : [`${path} must be an identifier, a string of 1 to ${IDENTIFIER_LENGTH} characters`];
}

/** Characters are counted as the identifiers of products are: by code point. */
const isShort = (text: string) => text.length <= IDENTIFIER_LENGTH || [...text].length <= IDENTIFIER_LENGTH;

export const unpackLines = (bytes: Uint8Array): LinkLine[] => JSON.parse(Buffer.from(bytes).toString());

/** Lines of the same source as one, its targets behind each other, each once. */
export function mergeLines(lines: readonly LinkLine[]): Map<string, Set<string>> {
  const merged = new Map<string, Set<string>>();
  for (const { source, targets } of lines) {
    const known = merged.get(source);
    if (known === undefined) merged.set(source, new Set(targets));
    else for (const target of targets) known.add(target);
  }
  return merged;
}
