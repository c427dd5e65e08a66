import { Fragment, type ReactNode } from 'react';
import { t } from './text.ts';

type Frame = (words: ReactNode) => ReactNode;

/** A text with elements in it, or around a part of it: `Listed by {name}`, `Go to the <link>overview</link>`. */
export function rich(text: string, parts: Readonly<Record<string, ReactNode | Frame>>): ReactNode {
  const nodes: ReactNode[] = [];
  const values: Record<string, string | number> = {};
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part === 'function') continue;
    // Numbers and names choose the form of a text; whatever else is put in is not read for tags.
    const isPlain = typeof part === 'number' || (typeof part === 'string' && /^\w*$/.test(part));
    values[name] = isPlain ? part : `\0${nodes.push(part) - 1}\0`;
  }
  return draw(t(text, values), { parts, nodes });
}

const MARKED = /<(\w+)>(.*?)<\/\1>|\0(\d+)\0/gs;

interface Given {
  readonly parts: Readonly<Record<string, ReactNode | Frame>>;
  readonly nodes: readonly ReactNode[];
}

function draw(text: string, given: Given): ReactNode[] {
  const drawn: ReactNode[] = [];
  let last = 0;
  for (const { 0: all, 1: tag, 2: inner = '', 3: at, index } of text.matchAll(MARKED)) {
    const frame = tag === undefined ? undefined : (given.parts[tag] as Frame);
    drawn.push(text.slice(last, index), frame ? frame(draw(inner, given)) : given.nodes[Number(at)]);
    last = index + all.length;
  }
  drawn.push(text.slice(last));
  return drawn.map((node, at) => <Fragment key={at}>{node}</Fragment>);
}
