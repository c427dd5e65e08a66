/** A part of a page below one heading: what the contents list and the search finds. */
export interface PageSection {
  readonly level: number;
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

const HEADING = /<h([1-3]) id="([^"]*)">(.*?)<\/h\1>/gs;

/** @returns the sections of a page that was rendered */
export function listPageSections(page: string): PageSection[] {
  const headings = [...page.matchAll(HEADING)];
  return headings.map((heading, at) => {
    const [whole, level, id = '', title = ''] = heading;
    const end = headings[at + 1]?.index ?? page.length;
    return {
      level: Number(level),
      id,
      title: toText(title),
      text: toText(page.slice(heading.index + whole.length, end)),
    };
  });
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const toText = (markup: string): string =>
  markup
    .replace(/<\/?(?:a|code|em|span|strong)\b[^>]*>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ENTITIES[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
