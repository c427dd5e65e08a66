import { FormatProblem } from '../format-problem.ts';
import { copyText } from '../source-row.ts';
import type { XmlElement } from '../xml/xml.ts';

/** A catalog names a few; what a damaged file calls so must not grow for ever. */
const LANGUAGES = 1_000;

/** The languages that a catalog has texts in, and the one that is read. BMEcat has ISO 639-2: `deu`, also written `ger`. */
export class BmecatLanguages {
  readonly #wanted: string | undefined;
  /** As the catalog writes them, in the order in which they appear, with the language that is meant. */
  readonly #seen = new Map<string, string>();
  #read: string | undefined;

  constructor(wanted?: string) {
    this.#wanted = wanted;
    this.#read = wanted === undefined ? undefined : readLanguage(wanted);
  }

  note(code: string): void {
    if (code === '' || this.#seen.has(code) || this.#seen.size >= LANGUAGES) return;
    this.#seen.set(copyText(code), readLanguage(code));
  }

  noteMain(code: string): void {
    this.note(code);
    if (code !== '') this.#read ??= readLanguage(code);
  }

  /**
   * @returns the code of the language that is read, and of the others; undefined where the catalog names none
   * @throws FormatProblem not_found
   */
  describe(): string | undefined {
    if (this.#seen.size === 0) return undefined;
    const codes = [...this.#seen.keys()].sort((a, b) => Number(this.#isRead(b)) - Number(this.#isRead(a)));
    const isThere = this.#wanted === undefined || codes.some((code) => this.#isRead(code));
    if (isThere) return codes.join(', ');
    const message = `The catalog has no texts in the language ${this.#wanted}; it has ${codes.slice(0, 50).join(', ')}`;
    throw new FormatProblem('not_found', message);
  }

  /** Of elements that stand once for each language only those in the one that is read, or in the one that stands first. */
  choose(elements: readonly XmlElement[]): readonly XmlElement[] {
    if (!elements.some(({ attributes }) => attributes.has('lang'))) return elements;
    const chosen = new Map<string, string>();
    for (const element of elements) {
      const code = codeOf(element);
      this.note(code);
      if (code !== '' && (!chosen.has(element.name) || this.#isRead(code))) chosen.set(element.name, code);
    }
    return elements.filter((element) => {
      const code = codeOf(element);
      return code === '' || code === chosen.get(element.name);
    });
  }

  #isRead(code: string): boolean {
    return this.#read !== undefined && this.#seen.get(code) === this.#read;
  }
}

const codeOf = ({ attributes }: XmlElement): string => attributes.get('lang') ?? '';

/** @returns `de` of `deu`, `ger`, `de` and `DE-AT`; a code that is none as it is, in lower case */
function readLanguage(code: string): string {
  try {
    return new Intl.Locale(code.trim()).language;
  } catch {
    return code.trim().toLowerCase();
  }
}
