/** The first rows of a channel, and what products lack; nothing is stored. Runs in the thread of a build. */
import type { CatalogPasses } from '../../relations/relations.ts';
import type { ChannelDefinition } from '../definitions/definitions.ts';
import { planFiles } from '../formats/formats.ts';
import { type FeedRows, openFeedRows, type ReadRow } from './feed-rows.ts';

export interface PreviewOrder {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
}

export interface FeedPreview {
  readonly fileName: string;
  readonly columns: readonly string[];
  readonly mapping: FeedRows['mapping'];
  readonly rows: readonly object[];
  readonly missing: readonly MissingField[];
  readonly looked: { readonly products: number; readonly taken: number; readonly leftOut: number };
  readonly text: string;
}

interface MissingField {
  readonly field: string;
  readonly products: number;
  readonly identifiers: readonly string[];
  readonly message: string;
}

const SHOWN_ROWS = 20;
const SHOWN_IDENTIFIERS = 10;
const TAKEN = 1_000;
const LOOKED = 20_000;

/** The first products that the filter takes, as the file would have them, and what many of them lack. */
export function previewFeed(passes: CatalogPasses, order: PreviewOrder): Promise<FeedPreview> {
  return passes.pass(order.projectId, async (pass) => {
    const rows = openFeedRows(pass, order.definition);
    try {
      return await lookAt(rows, planFiles(order.definition.format).nameOf(1));
    } finally {
      await rows.close();
    }
  });
}

async function lookAt(rows: FeedRows, fileName: string): Promise<FeedPreview> {
  const { columns, mapping, writer } = rows;
  const taken: ReadRow[] = [];
  let products = 0;
  for await (const page of rows.pages()) {
    products += page.products;
    taken.push(...page.rows);
    if (taken.length >= TAKEN || products >= LOOKED) break;
  }
  const first = taken.slice(0, SHOWN_ROWS);
  const lines = first.filter(({ isLeftOut }) => !isLeftOut).map(({ row }) => writer.write(row));
  const leftOut = taken.filter(({ isLeftOut }) => isLeftOut).length;
  return {
    ...{ fileName, columns, mapping, rows: first.map((read) => showRow(read, columns)) },
    missing: listMissing(taken),
    looked: { products, taken: taken.length, leftOut },
    text: `${writer.head}${lines.join('')}${writer.tail}`,
  };
}

function showRow(
  { identifier, row, problems, isLeftOut, absent }: ReadRow,
  columns: readonly string[],
): object {
  const values = columns.flatMap((name, at) => {
    const found = row.values[at] ?? [];
    return found.length === 0 ? [] : [[name, found]];
  });
  const related = row.related.map(({ as, identifiers }) => ({ as, identifiers }));
  const message = `related products are not named, because they do not go out themselves: ${absent.slice(0, SHOWN_IDENTIFIERS).join(' ')}`;
  const notes = absent.length === 0 ? [] : [{ field: 'related', code: 'related_absent', message }];
  const shown = { identifier, values: Object.fromEntries(values), related };
  return { ...shown, problems: [...problems, ...notes], isLeftOut };
}

/** @returns required fields that products lack, the most frequent first */
function listMissing(taken: readonly ReadRow[]): MissingField[] {
  const found = taken.flatMap(({ identifier, problems }) =>
    problems.filter(({ code }) => code === 'field_missing').map((problem) => ({ identifier, ...problem })),
  );
  return [...Map.groupBy(found, ({ field }) => field)]
    .map(([field, all]) => ({
      ...{ field, products: all.length, message: all[0]?.message ?? '' },
      identifiers: all.slice(0, SHOWN_IDENTIFIERS).map(({ identifier }) => identifier),
    }))
    .sort((a, b) => b.products - a.products);
}
