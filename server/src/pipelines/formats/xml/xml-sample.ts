import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { FormatProblem, LIMITS, tooDeep } from '../format-problem.ts';
import { isOfParser, notXml, refuseDoctype } from './xml-elements.ts';

/** How much of a document the repeated element is looked for in. */
export const SAMPLE_CHARACTERS = 1024 * 1024;
/** Names that a sample may have; a document with more is not one of products. */
const PATHS = 10_000;

interface SeenElement {
  readonly path: string;
  readonly depth: number;
  /** Holds elements or attributes, as a product does and a keyword does not. */
  hasParts: boolean;
  isRepeated: boolean;
}

/**
 * Finds the element that a document repeats for its products: of those that stand more than once side by side and hold
 * others, the outermost, and of these the first. Where nothing is repeated there may be one product only.
 * @returns its path from the root
 * @throws FormatProblem not_found, damaged, refused
 */
export function findRepeatedElement(text: string): string {
  const sample = new Sample();
  const problem = sample.read(text);
  const repeated = sample.elements.filter((element) => element.isRepeated);
  const chosen =
    outermost(repeated.filter((element) => element.hasParts)) ??
    outermost(sample.elements.filter((element) => element.hasParts && element.depth > 0)) ??
    outermost(repeated);
  if (chosen !== undefined) return chosen.path;
  const message =
    'There is no element that is repeated. Please name the one that holds a product as "record"';
  throw problem ?? new FormatProblem('not_found', message);
}

function outermost(elements: readonly SeenElement[]): SeenElement | undefined {
  return elements.reduce<SeenElement | undefined>(
    (best, element) => (best === undefined || element.depth < best.depth ? element : best),
    undefined,
  );
}

class Sample {
  readonly #seen = new Map<string, SeenElement>();
  /** Paths of the open elements, and how often each name stood in them. */
  readonly #open: { readonly path: string; readonly names: Map<string, number> }[] = [];

  get elements(): readonly SeenElement[] {
    return [...this.#seen.values()];
  }

  /** @returns what is wrong with the document; the reader that comes after says so where nothing is missing before */
  read(text: string): FormatProblem | undefined {
    const parser = new SaxesParser();
    parser.on('doctype', () => {
      throw refuseDoctype(parser.line);
    });
    parser.on('opentag', (tag) => this.#start(tag, parser.line));
    parser.on('closetag', () => this.#open.pop());
    try {
      parser.write(text);
      return undefined;
    } catch (error) {
      if (isOfParser(error)) return notXml(error, parser.line);
      if (error instanceof FormatProblem) return error;
      throw error;
    }
  }

  #start(tag: SaxesTagPlain, line: number): void {
    if (this.#open.length >= LIMITS.depth) throw tooDeep('The document', line);
    const name = tag.name.slice(tag.name.indexOf(':') + 1);
    const parent = this.#open.at(-1);
    const path = parent === undefined ? name : `${parent.path}/${name}`;
    const nth = (parent?.names.get(name) ?? 0) + 1;
    parent?.names.set(name, nth);
    const holder = parent === undefined ? undefined : this.#seen.get(parent.path);
    if (holder !== undefined) holder.hasParts = true;
    this.#note(path, { isRepeated: nth > 1, hasAttributes: Object.keys(tag.attributes).length > 0 });
    this.#open.push({ path, names: new Map() });
  }

  #note(path: string, { isRepeated, hasAttributes }: { isRepeated: boolean; hasAttributes: boolean }): void {
    const known = this.#seen.get(path);
    if (known === undefined && this.#seen.size >= PATHS) return;
    const element = known ?? { path, depth: this.#open.length, hasParts: false, isRepeated: false };
    element.hasParts ||= hasAttributes;
    element.isRepeated ||= isRepeated;
    this.#seen.set(path, element);
  }
}
