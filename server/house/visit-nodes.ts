import { readFileSync } from 'node:fs';
import ts from 'typescript';

/** Calls a function with each node of a source file, outer nodes first, and with the line in which the node starts. */
export function visitNodes(path: string, onNode: (node: ts.Node, line: number) => void): void {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    onNode(node, source.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
}
