import { ServiceError } from '../../kernel/errors.ts';
import { isStorableText } from '../../kernel/storable-text.ts';

/** Reads lists of links with a line for each source. Pure. Source: docs/interface §12.8. */

export interface LinkLine {
  readonly source: string;
  /** In a change, an empty list removes the source. */
  readonly targets: readonly LinkTarget[];
}

/** An identifier, or an identifier with its quantity for the source. */
export type LinkTarget = string | { readonly identifier: string; readonly quantity?: number };

export const LINES_PER_LIST = 1_000_000;
export const TARGETS_PER_SOURCE = 1_000;
/** Source: docs/interface §12.10. */
export const MOST_QUANTITY = 1_000_000;
/** Enough for 1,000 identifiers of 255 characters, of up to four bytes each or six if escaped. */
const LINE_BYTES = 2 * 1024 * 1024;
const TOO_LONG = `must not be longer than ${LINE_BYTES} bytes`;
const IDENTIFIER_LENGTH = 255;
/** The most mistakes that a refusal lists. */
const SHOWN = 20;
const NEW_LINE = 10;

/** Splits chunks of a list into lines and checks them. */
export class LinkReader {
  private readonly take: (line: LinkLine) => void;
  private rest: Uint8Array[] = [];
  private restBytes = 0;
  private line = 0;
  private lineCount = 0;
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

  /** @throws request_invalid, also for an empty list */
  end(): void {
    // A trailing line break does not begin another line.
    if (this.restBytes > 0) this.endLine(new Uint8Array());
    if (this.lineCount === 0 && this.problems.length === 0)
      this.problems.push('the body must have at least one line, such as {"source":"A1","targets":["B1"]}');
    if (this.problems.length > 0) this.refuse();
  }

  private keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.restBytes += part.length;
    if (this.restBytes > LINE_BYTES) {
      this.line += 1;
      this.stop(TOO_LONG);
    }
    // Copies the part, because the owner may reuse the chunk.
    this.rest.push(part.slice());
  }

  private endLine(part: Uint8Array): void {
    const bytes = this.rest.length === 0 ? part : Buffer.concat([...this.rest, part]);
    this.rest = [];
    this.restBytes = 0;
    this.line += 1;
    if (this.line > LINES_PER_LIST) this.stop(`is too many: a list has at most ${LINES_PER_LIST} lines`);
    if (bytes.length > LINE_BYTES) this.stop(TOO_LONG);
    for (const problem of this.read(bytes)) this.note(problem);
    if (this.problems.length >= SHOWN) this.refuse();
  }

  private note(problem: string): void {
    this.problems.push(`line ${this.line}${problem.startsWith('/') ? ':' : ''} ${problem}`);
  }

  /** Refuses the list without reading further. */
  private stop(problem: string): never {
    this.note(problem);
    this.refuse();
  }

  /** @returns the problems of the line */
  private read(bytes: Uint8Array): string[] {
    let value: unknown;
    try {
      const text = this.decoder.decode(bytes);
      if (text.trim() === '') return [];
      value = JSON.parse(text);
    } catch (error) {
      // The bytes are not UTF-8 or not JSON. The refusal names the line together with all other mistakes.
      return [`is not JSON: ${(error as Error).message.slice(0, 200)}`];
    }
    this.lineCount += 1;
    const problems = listLinkProblems(value);
    if (problems.length === 0) this.take(value as LinkLine);
    return problems;
  }

  private refuse(): never {
    throw new ServiceError('request_invalid', { details: this.problems.slice(0, SHOWN) });
  }
}

/** @returns the problems of a line, each with its JSON pointer */
function listLinkProblems(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return ['must be an object, such as {"source":"A1","targets":["B1"]}'];
  const { source, targets, ...others } = value as Partial<Record<string, unknown>>;
  const unknown = Object.keys(others).map(
    (name) => `/${name.slice(0, 100)} is unknown: a line has source and targets`,
  );
  return [...unknown, ...listIdentifierProblem('/source', source), ...listTargetProblems(targets)];
}

function listTargetProblems(targets: unknown): string[] {
  if (!Array.isArray(targets)) return ['/targets must be a list of identifiers'];
  if (targets.length > TARGETS_PER_SOURCE)
    return [`/targets must have at most ${TARGETS_PER_SOURCE} identifiers, but has ${targets.length}`];
  return targets.flatMap((target, index) => listTargetProblem(`/targets/${index}`, target));
}

function listTargetProblem(path: string, target: unknown): string[] {
  if (typeof target !== 'object' || target === null || Array.isArray(target))
    return listIdentifierProblem(path, target);
  const { identifier, quantity, ...others } = target as Partial<Record<string, unknown>>;
  const problems = Object.keys(others).map(
    (name) => `${path}/${name.slice(0, 100)} is unknown: a target has identifier and quantity`,
  );
  if (quantity !== undefined && !isQuantity(quantity))
    problems.push(`${path}/quantity must be an integer from 1 to ${MOST_QUANTITY}`);
  return [...problems, ...listIdentifierProblem(`${path}/identifier`, identifier)];
}

export const isQuantity = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_QUANTITY;

function listIdentifierProblem(path: string, value: unknown): string[] {
  const isRight = typeof value === 'string' && value.length > 0 && isShort(value) && isStorableText(value);
  return isRight ? [] : [`${path} must be an identifier, a string of 1 to ${IDENTIFIER_LENGTH} characters`];
}

/** Characters are counted as code points, like in identifiers of products. */
const isShort = (text: string) => text.length <= IDENTIFIER_LENGTH || [...text].length <= IDENTIFIER_LENGTH;

export const unpackLines = (bytes: Uint8Array): LinkLine[] => JSON.parse(Buffer.from(bytes).toString());

export const identifierOf = (target: LinkTarget): string =>
  typeof target === 'string' ? target : target.identifier;

/** The targets of a source in order, without repetition, each with its quantity if the list gives one. */
export type MergedTargets = ReadonlyMap<string, number | undefined>;

/**
 * Joins the lines of each source and puts their targets in sequence. Of a repeated target, the first one
 * counts.
 */
export function mergeLines(lines: readonly LinkLine[]): Map<string, MergedTargets> {
  const merged = new Map<string, Map<string, number | undefined>>();
  for (const { source, targets } of lines) {
    const mergedTargets = merged.getOrInsertComputed(source, () => new Map<string, number | undefined>());
    for (const target of targets) {
      const identifier = identifierOf(target);
      if (mergedTargets.has(identifier)) continue;
      mergedTargets.set(identifier, typeof target === 'string' ? undefined : target.quantity);
    }
  }
  return merged;
}

/** @returns the form that lists have: an object only if there is a quantity */
export const toTarget = (identifier: string, quantity: number | null | undefined): LinkTarget =>
  quantity ? { identifier, quantity } : identifier;
