import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { type ChunkParser, FormatProblem, fieldTooLarge, LIMITS, RowSize, tooDeep } from '../input/input.ts';

/** An element with its contents. Its name has no prefix. */
export interface XmlElement {
  readonly name: string;
  /** The namespace prefix; '' if the name has none. */
  readonly prefix: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** All text directly in the element, trimmed unless the choice keeps spaces. */
  readonly text: string;
}

interface OpenElement extends XmlElement {
  readonly children: XmlElement[];
  text: string;
}

export interface XmlChoice {
  /**
   * Decides whether an element is read completely. It is called for each element outside the chosen ones.
   * @param path names from the root
   * @param attributes as written, including prefixes
   */
  isChosen(name: string, path: readonly string[], attributes: Readonly<Record<string, string>>): boolean;
  /**
   * Allows a DOCTYPE with its own declarations, whose entities are replaced by their texts. A DOCTYPE that only names a
   * DTD is always accepted, and the DTD is never fetched.
   */
  readonly isDoctypeRead?: boolean;
  readonly keepsSpace?: boolean;
  /** Called for each element outside the chosen ones that contains text, or only attributes. */
  noteUnread?(path: string): void;
}

const WITH_DOCTYPE =
  'The file declares a document type (DOCTYPE), which could define entities. Such files are not read';
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

/** Extracts the chosen elements of a document that arrives in chunks. No other part of the document is stored. */
export class XmlElements implements ChunkParser<XmlElement> {
  readonly #parser = new SaxesParser();
  readonly #choice: XmlChoice;
  /** Names of the open elements outside the chosen ones. */
  readonly #path: string[] = [];
  /** Whether the current element outside the chosen ones, or the one that ended last, has content that is not read. */
  #isUnread = false;
  /** The chosen element, and the open elements within it. */
  readonly #open: OpenElement[] = [];
  #ready: XmlElement[] = [];
  readonly #size = new RowSize('An element');
  #quietCharacters = 0;

  constructor(choice: XmlChoice) {
    this.#choice = choice;
    // With eight handlers, V8 no longer optimises the parser's object, and the parser takes five times as long.
    this.#parser.on('doctype', (doctype) => this.#checkDoctype(doctype));
    this.#parser.on('opentag', (tag) => this.#start(tag));
    this.#parser.on('closetag', () => this.#end());
    this.#parser.on('text', (text) => this.#addText(text));
    this.#parser.on('cdata', (text) => this.#addText(text));
    this.#parser.on('comment', () => this.#noteProgress());
  }

  /** The parser's current line. */
  get line(): number {
    return this.#parser.line;
  }

  /** @returns the elements that the chunk completes. @throws FormatProblem damaged, refused, too_large */
  push(chunk: string): XmlElement[] {
    this.#quietCharacters += chunk.length;
    this.#parse(chunk);
    // Unfinished text, tags and comments cause no event, and must not grow without bound.
    if (this.#quietCharacters > LIMITS.fieldCharacters) throw fieldTooLarge('A value', this.line);
    return this.#takeReady();
  }

  end(): XmlElement[] {
    try {
      this.#parser.close();
    } catch (error) {
      if (!isOfParser(error)) throw error;
      throw new FormatProblem('broken_off', 'The XML ends in the middle', { line: this.line, cause: error });
    }
    return this.#takeReady();
  }

  #parse(chunk: string): void {
    try {
      this.#parser.write(chunk);
    } catch (error) {
      if (!isOfParser(error)) throw error;
      // The parser writes line and column before its message.
      const message = `The text is not XML: ${error.message.replace(/^\d+:\d+: /, '')}`;
      throw new FormatProblem('damaged', message, { line: this.line, cause: error });
    }
  }

  #takeReady(): XmlElement[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #noteProgress(): void {
    this.#quietCharacters = 0;
  }

  #checkDoctype(doctype: string): void {
    this.#noteProgress();
    // A DOCTYPE can define entities that grow without bound or name files of the server.
    if (this.#choice.isDoctypeRead !== true && doctype.includes('['))
      throw new FormatProblem('refused', WITH_DOCTYPE, { line: this.line });
    declareEntities(doctype, this.#parser.ENTITIES);
  }

  #start(tag: SaxesTagPlain): void {
    this.#noteProgress();
    if (this.#path.length + this.#open.length >= LIMITS.depth) throw tooDeep('The document', this.line);
    const colon = tag.name.indexOf(':');
    const name = tag.name.slice(colon + 1);
    if (this.#open.length === 0 && !this.#choice.isChosen(name, this.#path, tag.attributes)) {
      this.#path.push(name);
      this.#isUnread = Object.keys(tag.attributes).some((attribute) => !attribute.startsWith('xmlns'));
      return;
    }
    this.#isUnread = false;
    const prefix = colon === -1 ? '' : tag.name.slice(0, colon);
    const element = { name, prefix, attributes: this.#readAttributes(tag), children: [], text: '' };
    this.#size.add(name.length, 1, this.line);
    this.#open.at(-1)?.children.push(element);
    this.#open.push(element);
  }

  #readAttributes({ attributes }: SaxesTagPlain): ReadonlyMap<string, string> {
    let read: Map<string, string> | undefined;
    for (const name in attributes) {
      const value = attributes[name] ?? '';
      if (value.length > LIMITS.fieldCharacters) throw fieldTooLarge('An attribute', this.line);
      this.#size.add(name.length + value.length, 1, this.line);
      if (name === 'xmlns' || name.startsWith('xmlns:')) continue;
      read ??= new Map();
      read.set(name.slice(name.indexOf(':') + 1), value);
    }
    return read ?? NO_ATTRIBUTES;
  }

  #addText(text: string): void {
    this.#noteProgress();
    const element = this.#open.at(-1);
    if (element === undefined) {
      this.#isUnread ||= text.trim() !== '';
      return;
    }
    this.#size.add(text.length, 0, this.line);
    element.text += text;
    if (element.text.length > LIMITS.fieldCharacters) throw fieldTooLarge('A value', this.line);
  }

  #end(): void {
    this.#noteProgress();
    const element = this.#open.pop();
    if (element === undefined) {
      if (this.#isUnread) this.#choice.noteUnread?.(this.#path.join('/'));
      this.#isUnread = false;
      this.#path.pop();
      return;
    }
    if (this.#choice.keepsSpace !== true) element.text = element.text.trim();
    if (this.#open.length > 0) return;
    this.#ready.push(element);
    this.#size.reset();
  }
}

/** The parser throws plain errors. The handlers throw a FormatProblem, or their error is a bug. */
function isOfParser(error: unknown): error is Error {
  return error instanceof Error && error.constructor === Error;
}

/** A declaration of a DTD that is not a comment or instruction. A declaration with `%` applies only within the DTD. */
const GENERAL_ENTITY = /^<!ENTITY\s+([^\s%"'<>]+)\s+(?:"([^"]*)"|'([^']*)'|(?:SYSTEM|PUBLIC)\s)/;
/** The parts of a doctype besides names and spaces. */
const DOCTYPE_PART = /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|"[^"]*"|'[^']*'|[<>]/g;
const OF_XML = new Map(Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }));
const REFERENCE = /&([^;&\s]{1,1000});/g;

/**
 * Declares the entities of a DOCTYPE to the parser that read it. Nothing is fetched. An external entity, an entity that
 * contains elements, and texts that grow without bound are refused where they are used.
 * @param into entities that the parser knows
 */
function declareEntities(doctype: string, into: Record<string, string>): void {
  /** The text of each entity; undefined if the entity is external. */
  const declared = new Map<string, string | undefined>();
  const expanded = new Map<string, string>();
  let depth = 0;
  /** By how many characters the document may still grow. */
  let room: number = LIMITS.rowCharacters;

  /** @throws FormatProblem refused, too_large */
  function expand(name: string): string {
    const text = expanded.get(name) ?? resolve(name);
    room -= Math.max(0, text.length - name.length);
    if (room >= 0) return text;
    const most = LIMITS.rowCharacters.toLocaleString('en');
    throw new FormatProblem('too_large', `Entities enlarge the file by more than ${most} characters`);
  }

  function resolve(name: string): string {
    const value = declared.get(name);
    const shown = name.slice(0, 100);
    if (value === undefined)
      throw new FormatProblem(
        'refused',
        `The entity ${shown} is defined in another file, which is never read`,
      );
    if (value.includes('<'))
      throw new FormatProblem('refused', `The entity ${shown} contains elements. Only text is filled in`);
    depth += 1;
    // This limit also stops an entity that contains itself.
    if (depth > LIMITS.depth) throw tooDeep(`The entity ${shown}`);
    const text = value.replace(REFERENCE, (_, inner: string) => {
      if (declared.has(inner)) return expand(inner);
      const character = OF_XML.get(inner) ?? readCharacter(inner);
      if (character !== undefined) return character;
      const message = `The entity ${shown} contains the unknown reference &${inner.slice(0, 100)};`;
      throw new FormatProblem('damaged', message);
    });
    depth -= 1;
    room -= text.length;
    expanded.set(name, text);
    return text;
  }

  for (const declaration of listDeclarations(doctype)) {
    const [, name, ...values] = GENERAL_ENTITY.exec(declaration) ?? [];
    // As in XML, the first declaration applies, and the predefined entities stay.
    if (name === undefined || name in into) continue;
    const text = values.find((value) => value !== undefined);
    declared.set(name, text);
    Object.defineProperty(into, name, { enumerable: true, get: () => expand(name) });
  }
}

/** Quotes may contain `>`, and comments and instructions may contain anything. */
function* listDeclarations(doctype: string): Generator<string> {
  let start: number | undefined;
  for (const { 0: part, index } of doctype.matchAll(DOCTYPE_PART)) {
    if (part === '<') start ??= index;
    if (part !== '>' || start === undefined) continue;
    yield doctype.slice(start, index + 1);
    start = undefined;
  }
}

/** Returns the character of `#233` or `#xE9`. */
function readCharacter(reference: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(reference) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return code <= 0x10_ffff ? String.fromCodePoint(code) : undefined;
}
