import { SaxesParser } from 'saxes';

/** An element of an answer: S3 nests them two deep and uses no attributes. */
export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** @returns the text of a child, empty without one; of itself without a name */
  text(child?: string): string;
}

interface Building {
  readonly name: string;
  readonly children: Building[];
  content: string;
}

/** @returns undefined for what is no XML. Entities of the text's own are not known to the parser. */
export function readXml(text: string): XmlElement | undefined {
  const root: Building = { name: '', children: [], content: '' };
  const open = [root];
  const parser = new SaxesParser();
  parser.on('opentag', ({ name }) => {
    const element = { name, children: [], content: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', (part) => {
    const element = open.at(-1);
    if (element !== undefined) element.content += part;
  });
  parser.on('closetag', () => void open.pop());
  try {
    parser.write(text).close();
  } catch {
    // Its callers tell of an answer that is not what S3 gives.
    return undefined;
  }
  const [first] = root.children;
  return first && finish(first);
}

function finish({ name, children, content }: Building): XmlElement {
  const finished = children.map(finish);
  return {
    name,
    children: finished,
    text: (child) =>
      child === undefined ? content : (finished.find((one) => one.name === child)?.text() ?? ''),
  };
}
