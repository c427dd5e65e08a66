import { posix } from 'node:path';
import { parseText } from '../chunks.ts';
import { decodeText } from '../decode.ts';
import { FormatProblem } from '../format-problem.ts';
import { copyText, ReadingNotes } from '../source-row.ts';
import { TextStore } from '../text-store.ts';
import { chooseByPath, type XmlChoice, type XmlElement, XmlElements } from '../xml/xml.ts';
import type { ZipParts } from '../zip-parts.ts';
import { type NumberStyle, readNumberStyle } from './xlsx-numbers.ts';

/** Excel allows 64,000 styles. */
const STYLES = 65_536;
const SHEETS = 10_000;
const LINKS = 10_000;
/** Names, addresses and formats of a workbook have some dozen characters; they are kept while it is read. */
const NAME_CHARACTERS = 500;

export interface Book {
  readonly sheets: readonly Sheet[];
  readonly startsIn1904: boolean;
  /** By the number that a cell gives. */
  readonly styles: readonly NumberStyle[];
  /** Part that holds the shared texts. */
  readonly textsPart: string | undefined;
}

export interface Sheet {
  readonly name: string;
  readonly part: string;
  readonly isHidden: boolean;
}

/** Reads which sheets a workbook has and how its numbers are meant. @throws FormatProblem */
export async function readBook(parts: ZipParts): Promise<Book> {
  const bookPart = await findBookPart(parts);
  const links = await readLinks(parts, bookPart);
  const sheets: Sheet[] = [];
  let startsIn1904 = false;
  const isWanted = (name: string) => name === 'sheet' || name === 'workbookPr';
  for await (const element of readElements(parts, bookPart, { isWanted })) {
    if (element.name === 'workbookPr') startsIn1904 = isTrue(element.attributes.get('date1904'));
    else if (sheets.length < SHEETS) sheets.push(...readSheet(element, links));
  }
  const stylesPart = findByKind(links, 'styles');
  return {
    sheets,
    startsIn1904,
    styles: stylesPart !== undefined && parts.has(stylesPart) ? await readStyles(parts, stylesPart) : [],
    textsPart: findByKind(links, 'sharedStrings'),
  };
}

interface Link {
  readonly id: string;
  /** Last word of the address that names the kind of the link. */
  readonly kind: string;
  readonly part: string;
}

async function findBookPart(parts: ZipParts): Promise<string> {
  const links = parts.has('_rels/.rels') ? await readLinks(parts, '') : [];
  const part = findByKind(links, 'officeDocument') ?? 'xl/workbook.xml';
  if (part.endsWith('.bin')) {
    const message = 'The file is a binary workbook (.xlsb). Please save it as .xlsx';
    throw new FormatProblem('refused', message);
  }
  if (parts.has(part)) return part;
  throw new FormatProblem('damaged', 'The file is a zip archive, but no workbook (.xlsx)');
}

async function readLinks(parts: ZipParts, ofPart: string): Promise<Link[]> {
  const folder = posix.dirname(ofPart);
  const linksPart = posix.join(folder, '_rels', `${posix.basename(ofPart)}.rels`);
  if (!parts.has(linksPart)) return [];
  const links: Link[] = [];
  for await (const { attributes } of readElements(parts, linksPart, {
    isWanted: (name) => name === 'Relationship',
  })) {
    if (links.length === LINKS)
      throw new FormatProblem('too_large', 'The workbook has more than 10,000 links');
    const target = shorten(attributes.get('Target'));
    links.push({
      id: shorten(attributes.get('Id')),
      kind: posix.basename(shorten(attributes.get('Type'))),
      part: target.startsWith('/') ? target.slice(1) : posix.join(folder, target),
    });
  }
  return links;
}

const findByKind = (links: readonly Link[], kind: string): string | undefined =>
  links.find((link) => link.kind === kind)?.part;

function readSheet({ attributes }: XmlElement, links: readonly Link[]): Sheet[] {
  // The attribute is r:id; prefixes are dropped.
  const link = links.find(({ id }) => id === attributes.get('id'));
  if (link === undefined || link.kind !== 'worksheet') return [];
  const state = attributes.get('state') ?? 'visible';
  return [{ name: shorten(attributes.get('name')), part: link.part, isHidden: state !== 'visible' }];
}

async function readStyles(parts: ZipParts, part: string): Promise<NumberStyle[]> {
  const isStyle = chooseByPath('styleSheet/cellXfs/xf');
  const codes = new Map<number, string>();
  const formatIds: number[] = [];
  const isWanted: XmlChoice['isWanted'] = (name, path) => name === 'numFmt' || isStyle(name, path);
  for await (const { name, attributes } of readElements(parts, part, { isWanted })) {
    const formatId = Number(attributes.get('numFmtId'));
    if (name === 'xf') formatIds.push(formatId);
    else codes.set(formatId, shorten(attributes.get('formatCode')));
    if (formatIds.length > STYLES || codes.size > STYLES)
      throw new FormatProblem('too_large', 'The workbook has more than 65,536 styles');
  }
  return formatIds.map((formatId) => readNumberStyle(formatId, codes.get(formatId)));
}

/** The texts that cells share, by number. To be closed. */
export async function readTexts(parts: ZipParts, { textsPart }: Book, folder: string): Promise<TextStore> {
  const texts = await TextStore.open(folder);
  try {
    if (textsPart === undefined || !parts.has(textsPart)) return texts;
    const choice = { isWanted: (name: string) => name === 'si', isSpaceKept: true };
    for await (const element of readElements(parts, textsPart, choice)) texts.add(readText(element));
    return texts;
  } catch (error) {
    await texts.close();
    throw error;
  }
}

/** Plain text of a shared or inline text: `t`, or the runs of a formatted one; how it is pronounced (rPh) is left out. */
export function readText(element: XmlElement): string {
  let text = '';
  for (const child of element.children) {
    if (child.name === 't') text += child.text;
    else if (child.name === 'r') text += readText(child);
  }
  return unescapeText(text);
}

/** Characters that XML cannot hold are written `_x000D_`. Source: ECMA-376, part 1, 22.9.2.19. */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** The wanted elements of a part, one after another. */
export async function* readElements(
  parts: ZipParts,
  part: string,
  choice: XmlChoice,
): AsyncGenerator<XmlElement> {
  const text = decodeText(parts.read(part), new ReadingNotes(), { isMarkup: true });
  for await (const elements of parseText(text, new XmlElements(choice))) yield* elements;
}

const shorten = (text: string | undefined): string => copyText((text ?? '').slice(0, NAME_CHARACTERS));
const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true';
