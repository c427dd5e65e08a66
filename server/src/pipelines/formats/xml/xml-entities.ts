import { FormatProblem, LIMITS, tooDeep } from '../format-problem.ts';

/** A declaration of a DTD that is no comment and no instruction; what follows `%` counts for the DTD alone. */
const GENERAL_ENTITY = /^<!ENTITY\s+([^\s%"'<>]+)\s+(?:"([^"]*)"|'([^']*)'|(?:SYSTEM|PUBLIC)\s)/;
const OF_XML = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);
const REFERENCE = /&([^;&\s]{1,1000});/g;

/**
 * Makes the texts that a DOCTYPE declares known to the parser that met it. Nothing is fetched: an external entity, one with
 * elements in it, or texts that grow without bound are refused where they are used.
 * @param into  entities that the parser knows
 */
export function declareEntities(doctype: string, into: Record<string, string>): void {
  const entities = new Entities();
  for (const declaration of listDeclarations(doctype)) {
    const [, name, ...values] = GENERAL_ENTITY.exec(declaration) ?? [];
    // As XML has it, the first declaration counts, and those of XML itself stay.
    if (name === undefined || name in into) continue;
    entities.declare(
      name,
      values.find((value) => value !== undefined),
    );
    Object.defineProperty(into, name, { enumerable: true, get: () => entities.expand(name) });
  }
}

/** Quotes may hold `>`, comments and instructions anything; a doctype that the parser took is closed properly. */
function* listDeclarations(doctype: string): Generator<string> {
  for (let start = doctype.indexOf('<'); start !== -1; ) {
    const end = endOfDeclaration(doctype, start);
    if (end === -1) return;
    yield doctype.slice(start, end);
    start = doctype.indexOf('<', end);
  }
}

function endOfDeclaration(doctype: string, start: number): number {
  const sign = doctype.startsWith('<!--', start) ? '-->' : doctype.startsWith('<?', start) ? '?>' : undefined;
  if (sign !== undefined) return endOf(doctype, sign, start + 2);
  const stops = /["'>]/g;
  stops.lastIndex = start;
  for (let stop = stops.exec(doctype); stop !== null; stop = stops.exec(doctype)) {
    if (stop[0] === '>') return stop.index + 1;
    const close = endOf(doctype, stop[0], stop.index + 1);
    if (close === -1) return -1;
    stops.lastIndex = close;
  }
  return -1;
}

function endOf(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at === -1 ? -1 : at + sign.length;
}

class Entities {
  /** undefined: external. */
  readonly #declared = new Map<string, string | undefined>();
  readonly #expanded = new Map<string, string>();
  #depth = 0;
  /** By how much a document may still grow. */
  #room: number = LIMITS.rowCharacters;

  declare(name: string, value: string | undefined): void {
    this.#declared.set(name, value);
  }

  /** @throws FormatProblem refused, too_large */
  expand(name: string): string {
    const text = this.#expanded.get(name) ?? this.#resolve(name);
    this.#room -= Math.max(0, text.length - name.length);
    if (this.#room >= 0) return text;
    const most = LIMITS.rowCharacters.toLocaleString('en');
    throw new FormatProblem('too_large', `Entities make the file larger by more than ${most} characters`);
  }

  #resolve(name: string): string {
    const value = this.#declared.get(name);
    const shown = name.slice(0, 100);
    if (value === undefined)
      throw new FormatProblem('refused', `The entity ${shown} stands in another file, which is never read`);
    if (value.includes('<'))
      throw new FormatProblem('refused', `The entity ${shown} holds elements. Only text is filled in`);
    this.#depth += 1;
    // An entity that holds itself ends here too.
    if (this.#depth > LIMITS.depth) throw tooDeep(`The entity ${shown}`);
    const text = value.replace(REFERENCE, (_, inner: string) => this.#fill(shown, inner));
    this.#depth -= 1;
    this.#room -= text.length;
    this.#expanded.set(name, text);
    return text;
  }

  #fill(shown: string, inner: string): string {
    if (this.#declared.has(inner)) return this.expand(inner);
    const known = OF_XML.get(inner) ?? readCharacter(inner);
    if (known !== undefined) return known;
    throw new FormatProblem(
      'damaged',
      `The entity ${shown} holds &${inner.slice(0, 100)};, which is not known`,
    );
  }
}

/** Of `#233` or `#xE9`. */
function readCharacter(reference: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(reference) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return code <= 0x10_ffff ? String.fromCodePoint(code) : undefined;
}
