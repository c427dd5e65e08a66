import { FormatProblem } from '../format-problem.ts';
import { copyText } from '../source-row.ts';
import type { XmlElement } from '../xml/xml.ts';
import type { BmecatLanguages } from './bmecat-languages.ts';

/** ECLASS has 25,000 features and 90,000 values; a catalog holds those of its products. */
const FEATURES = 500_000;
/** All names and numbers that are kept of a catalog, 128 MiB at most. */
const CHARACTERS = 64 * 1024 * 1024;

export interface Feature {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
}

/** Elements of a classification that describe its features and the values they may have. */
export const TEMPLATES = ['CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE', 'ALLOWED_VALUE'];

/** Names of features and values that products only number. */
export class BmecatTemplates {
  readonly #languages: BmecatLanguages;
  readonly #texts: KeptTexts;
  readonly #features = new Map<string, Feature>();
  readonly #values = new Map<string, string>();

  constructor(languages: BmecatLanguages, texts: KeptTexts) {
    this.#languages = languages;
    this.#texts = texts;
  }

  /** @throws FormatProblem too_large */
  take(element: XmlElement): void {
    if (element.name === 'ALLOWED_VALUE')
      this.#add(
        this.#values,
        this.#textOf(element, 'ALLOWED_VALUE_ID'),
        this.#texts.keep(this.#textOf(element, 'ALLOWED_VALUE_NAME')),
      );
    else this.#takeFeature(this.read(element));
  }

  /** @returns what an FTEMPLATE or a template of a classification says */
  read(template: XmlElement): Feature {
    const content = template.children.find(
      ({ name }) => name === 'FEATURE_CONTENT' || name === 'FT_FEATURE_CONTENT',
    );
    const name = this.#textOf(template, 'FT_NAME') || this.#textOf(template, 'FT_SHORTNAME');
    const unit = this.#textOf(template, 'FT_UNIT') || (content ? this.#textOf(content, 'FT_UNIT') : '');
    return { id: this.#textOf(template, 'FT_ID'), name, unit };
  }

  find(id: string): Feature | undefined {
    return this.#features.get(id);
  }

  /** @returns the number itself where the catalog does not say what it stands for */
  nameOfValue(id: string): string {
    return this.#values.get(id) || id;
  }

  #takeFeature({ id, name, unit }: Feature): void {
    const keep = (text: string) => this.#texts.keep(text);
    this.#add(this.#features, id, { id: '', name: keep(name), unit: keep(unit) });
  }

  #add<Value>(to: Map<string, Value>, id: string, value: Value): void {
    if (id !== '') to.set(this.#texts.keep(id), value);
    if (to.size > FEATURES) throw tooMany(`${FEATURES.toLocaleString('en')} features or values`);
  }

  #textOf(element: XmlElement, name: string): string {
    return this.#languages.choose(element.children).find((child) => child.name === name)?.text ?? '';
  }
}

/** Copies texts that outlive their element, and counts them. */
export class KeptTexts {
  #characters = 0;

  /** @throws FormatProblem too_large */
  keep(text: string): string {
    this.#characters += text.length;
    if (this.#characters > CHARACTERS)
      throw tooMany(`${CHARACTERS.toLocaleString('en')} characters of names`);
    return copyText(text);
  }
}

export function tooMany(what: string): FormatProblem {
  return new FormatProblem('too_large', `The catalog has more than ${what}`);
}
