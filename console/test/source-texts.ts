import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** The texts of the console that users read, as its source has them. */
export interface SourceTexts {
  /** The texts that `t` and `rich` receive. */
  readonly texts: readonly string[];
  /** `file:line what is wrong`: a text that is not translated, or is translated before it is rendered. */
  readonly mistakes: readonly string[];
}

/** Properties of components whose value users read. */
const READ = new Set(
  ['title', 'label', 'hint', 'about', 'placeholder', 'aria-label', 'alt', 'action'].concat([
    ...['words', 'never', 'warning', 'removing', 'more', 'choices', 'crumbs', 'under', 'pairs'],
  ]),
);
const TELLS = /^tell\.(good|undoable)$/;
/** A product name and examples of data, which are the same in every language. */
const SAME = new Set([
  'Relata',
  ...['Google Shopping', 'accessories', 'Color, Farbe', 'Passende Bits', 'de-DE', 'X-Token', 'A1, B4'],
  'https://shop.example/events',
]);
/** Translates the labels of docs/openapi.json. */
const SAYS_OTHERS = 'rules/choices.ts';

const SOURCE = join(import.meta.dirname, '../src');

export function readSourceTexts(): SourceTexts {
  const files = globSync('**/*.{ts,tsx}', { cwd: SOURCE }).filter(
    (file) => !/\.test\.ts$|^languages\//.test(file),
  );
  const all = files.map((file) => readTexts(file, readFileSync(join(SOURCE, file), 'utf8')));
  return { texts: all.flatMap(({ texts }) => texts), mistakes: all.flatMap(({ mistakes }) => mistakes) };
}

export function readTexts(file: string, code: string): SourceTexts {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  const texts: string[] = [];
  const mistakes: string[] = [];
  const blame = (node: ts.Node, problem: string) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    mistakes.push(`${file}:${line + 1} ${problem}`);
  };
  const checkCall = (text: ts.Node) => {
    if (ts.isStringLiteralLike(text)) texts.push(text.text);
    else if (file !== SAYS_OTHERS) blame(text, 'translates a text that is not a literal');
    if (ts.findAncestor(text, isDrawn) === undefined)
      blame(text, 'is translated while the file loads, so it keeps the first language');
  };
  const visit = (node: ts.Node): void => {
    for (const text of listRead(node).flatMap(listBare))
      blame(text, `is not translated: ${text.getText(source).trim()}`);
    if (isBareKind(node)) blame(node, `is not translated: ${node.name.getText(source)}`);
    const text = textOfCall(node);
    if (text !== undefined) checkCall(text);
    node.forEachChild(visit);
  };
  visit(source);
  return { texts, mistakes };
}

/** Whether the code runs during rendering or in an action. */
const isDrawn = (node: ts.Node) => ts.isFunctionLike(node) || ts.isClassLike(node);

function textOfCall(node: ts.Node): ts.Node | undefined {
  const isSaid =
    ts.isCallExpression(node) && ts.isIdentifier(node.expression) && /^(t|rich)$/.test(node.expression.text);
  return isSaid ? node.arguments[0] : undefined;
}

/** @returns the texts of a node that users read */
function listRead(node: ts.Node): readonly ts.Node[] {
  if (ts.isJsxText(node)) return [node];
  if (ts.isJsxExpression(node)) return ts.isJsxAttribute(node.parent) ? [] : [node];
  if (ts.isCallExpression(node)) return TELLS.test(node.expression.getText()) ? node.arguments : [];
  const read = readValue(node);
  return read ? [read] : [];
}

/** The buttons that add a row are labelled with the names of its kinds. */
function isBareKind(node: ts.Node): node is ts.PropertyAssignment {
  if (!ts.isPropertyAssignment(node) || ts.isComputedPropertyName(node.name)) return false;
  let above: ts.Node = node.parent.parent;
  while (ts.isConditionalExpression(above) || ts.isJsxExpression(above)) above = above.parent;
  return ts.isJsxAttribute(above) && above.name.getText() === 'kinds';
}

function readValue(node: ts.Node): ts.Node | undefined {
  if (ts.isJsxAttribute(node)) return READ.has(node.name.getText()) ? node.initializer : undefined;
  const isRead = ts.isPropertyAssignment(node) && /^(words|title)$/.test(node.name.getText());
  return isRead ? node.initializer : undefined;
}

/** @returns the texts that a value can have, as the source has them */
function listBare(node: ts.Node): readonly ts.Node[] {
  if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) return isText(node.text) ? [node] : [];
  if (ts.isTemplateExpression(node)) return listBareOfTemplate(node);
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(listBare);
  if (ts.isBinaryExpression(node)) return listBareOfBinary(node);
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(listBareOfElement);
  const inner = innerOf(node);
  return inner ? listBare(inner) : [];
}

function listBareOfTemplate(node: ts.TemplateExpression): readonly ts.Node[] {
  const spans = node.templateSpans;
  const own = [node.head, ...spans.map(({ literal }) => literal)].map(({ text }) => text).join('');
  return isText(own) ? [node] : spans.flatMap(({ expression }) => listBare(expression));
}

function innerOf(node: ts.Node): ts.Node | undefined {
  return ts.isJsxExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSpreadElement(node)
    ? node.expression
    : undefined;
}

function listBareOfBinary({ left, right, operatorToken: { kind } }: ts.BinaryExpression) {
  if (kind === ts.SyntaxKind.AmpersandAmpersandToken) return listBare(right);
  const isEither =
    kind === ts.SyntaxKind.BarBarToken ||
    kind === ts.SyntaxKind.QuestionQuestionToken ||
    kind === ts.SyntaxKind.PlusToken;
  return isEither ? [left, right].flatMap(listBare) : [];
}

/** A choice has a value and a text. A crumb or a pair has a text and its link or value. */
function listBareOfElement(element: ts.Node): readonly ts.Node[] {
  if (ts.isBinaryExpression(element)) return listBareOfElement(element.right);
  const list = ts.isAsExpression(element) ? element.expression : element;
  if (!ts.isArrayLiteralExpression(list)) return listBare(element);
  const [first, second] = list.elements;
  const isValue = first && ts.isStringLiteralLike(first) && /^[a-z-]*$/.test(first.text);
  return [isValue ? undefined : first, second].flatMap((node) => (node ? listBare(node) : []));
}

const isText = (text: string) => /\p{L}/u.test(text) && !SAME.has(text.trim());
